# Recipes. `just` alone lists them.

# The dependencies take a while to compile; all recipes share one target folder and one profile.
export CARGO_TARGET_DIR := env("CARGO_TARGET_DIR", justfile_directory() / "target")

# What tests turn on: the backend ndarray, to compare with, and MPI where there is one: ranks are tested through it.
tested := "--features experiments/ndarray" + `if command -v mpicc >/dev/null && /sbin/ldconfig -p | grep -q libclang; then echo ",experiments/mpi"; fi`

[private]
default:
    @just --list

# Train the private autoencoder: `just run-swae`, `just run-swae mnist --preset paper`.
[group('papers')]
[doc('Train the private autoencoder')]
run-swae dataset="glyphs" *flags="":
    cargo run --release --locked --bin sliver -- swae {{dataset}} {{flags}}

# A private copy of labelled images (docs/images.md): `just synth scans/ --side 32 --channels 3 --epsilon 1 --out copy`.
[positional-arguments]
[group('your data')]
[doc('Make a private copy of images or of a table')]
synth *flags:
    cargo run --release --locked --bin sliver -- synth "$@"

# A private model of labelled images, of embeddings or of a table (docs/classifiers.md): `just classify scans/ --side 32 --channels 3 --out
# model`.
[positional-arguments]
[group('your data')]
[doc('Learn a private classifier of images, embeddings or a table')]
classify *flags:
    cargo run --release --locked --bin sliver -- classify "$@"

# What a model of `just classify` says of new records: `just predict model new-scans/ --out predictions.csv`.
[positional-arguments]
[group('your data')]
[doc('Classify new records by a private model')]
predict *flags:
    cargo run --release --locked --bin sliver -- predict "$@"

# A draft of the schema of a table, for a person to confirm (docs/schemas.md): `just schema people.csv --label income`.
[positional-arguments]
[group('your data')]
[doc('Draft the schema of a table, for a person to confirm')]
schema *flags:
    cargo run --release --locked --bin sliver -- schema "$@"

# A copy by a method of Sebag et al. 2023, or by `--method mixture`, the default: `just run-flow`, which makes a half of 20000 glyphs
# public, `just run-flow mnist --public glyphs`, `just run-flow mnist --method resampled --public half --epsilon 10`.
[group('papers')]
[doc('Make a copy by the mixture, or by a method of Sebag et al. 2023')]
run-flow input="glyphs" *flags="--public half --records 10000 --public-records 10000 --public-epochs 3 --latent 8":
    cargo run --release --locked --bin sliver -- synth {{input}} {{flags}}

# A copy by a generator of images, `--method generator`: `just run-generator`, `just run-generator mnist`. `just run-flow mnist --method
# projections` is the published form.
[group('papers')]
[doc('Make a copy by a generator of images')]
run-generator input="glyphs" *flags="--epsilon 10":
    cargo run --release --locked --bin sliver -- synth {{input}} --method generator {{flags}}

# Take samples of a finished run away: `just export RUN --out DIR --count 60000` (docs/images.md).
[positional-arguments]
[group('your data')]
[doc('Take samples of a finished run away')]
export run *flags:
    @cargo run --release --locked --quiet --bin sliver -- export "$@"

# Learn fairly: `just run-fair`, `just run-fair regression1d --alpha 0.6 --epsilon 2`.
[group('papers')]
[doc('Train a model that does not tell a sensitive attribute')]
run-fair task="classification" *flags="":
    cargo run --release --locked --bin sliver -- fair {{task}} {{flags}}

# Learn from images that were privatised one by one: `just run-ldp` makes some of glyphs, `just run-ldp
# PRIVATISED.safetensors --dataset mnist --loss divergence` takes those of `just privatise`.
[group('papers')]
[doc('Learn from images that were privatised one by one')]
run-ldp input="runs/privatised/glyphs_mechanism=gaussian_epsilon=35_delta=1e-5_radius=8_keep=200_label-weight=4.safetensors" *flags="": (privatised input)
    cargo run --release --locked --bin sliver -- ldp {{input}} {{flags}}

# Those of some files of runs/privatised that are not there yet; DATASET_FLAG=VALUE_FLAG=VALUE.safetensors says how.
[private]
privatised *files:
    @for file in {{files}}; do case $file in runs/privatised/*) if [ ! -e $file ]; then mkdir -p runs/privatised; \
        set -- $(basename $file .safetensors | sed 's/_/ --/g; s/=/ /g'); input=$1; shift; \
        just privatise $input $file "$@" || exit 1; fi;; esac; done

# Generate a circle privately, an example of `private-training`: `just run-circle`, `just run-circle smoothed --epsilon 10`.
[group('papers')]
[doc('Generate a circle privately')]
run-circle method="gradients" *flags="":
    cargo run --release --locked -p private-training --example circle -- {{method}} {{flags}}

# The private distance between two files (idx, CSV, NPY, image folders), and a test on it:
# `just distance A.npy B.npy --radius 3 --epsilon 1 --test`.
[positional-arguments]
[group('your data')]
[doc('Measure the private distance between two files')]
distance a b *flags:
    cargo run --release --locked --bin sliver -- distance "$@"

# Give each record its noise alone, once: `just privatise mnist noisy.safetensors --mechanism gaussian --epsilon 35
# --delta 1e-4 --radius 9`; files by path, the private side's log by --log (docs/local_privacy.md).
[positional-arguments]
[group('your data')]
[doc('Give each record its noise alone, once')]
privatise input out *flags:
    cargo run --release --locked --bin sliver -- privatise "$@"

# Carry a classifier over to private images of another source, an example of `private-training`: `just run-adapt`, `just
# run-adapt usps mnist --epsilon 1`, `just run-adapt usps mnist --method sliced`.
[group('papers')]
[doc('Carry a classifier over to private images of another source')]
run-adapt *flags="":
    cargo run --release --locked -p private-training --example adapt -- {{flags}}

# A run over several processes of MPI, each with its part of the records (docs/runs.md): `just mpi 4 swae mnist`,
# `just mpi 2 fair regression1d`. `mpirun` takes what MPIRUN_FLAGS says, such as `--hostfile hosts`.
[group('machines')]
[doc('Run a subcommand over several processes of MPI')]
mpi ranks subcommand *flags:
    cargo build --release --locked -p experiments --features mpi --bin sliver
    mpirun ${MPIRUN_FLAGS:-} -n {{ranks}} "$CARGO_TARGET_DIR/release/sliver" {{subcommand}} {{flags}} --ranks {{ranks}}

# The figures of Rodriguez-Vitores et al. 2025, arXiv 2502.01701: of section 7 (`just figures fair`), or of appendix
# D.2 (`just figures circle`); those of Reshetova et al. 2023, arXiv 2306.09547, sections 5.6 and 5.7 (`just figures
# ldp`); the tables of docs/results/adapt.md (`just figures adapt`); the flow towards five Gaussians of Sebag et al. 2023, figure 1
# (`just figures toy`); the distance against the shift of a mean of Rakotomamonjy and Ralaivola 2021, figure 2, and the power of the
# test (`just figures distance`). Runs what is not done of the sweeps, then draws. `just figures docs` draws the charts of docs/results.
[group('papers')]
[doc('Draw the figures of a paper: fair, circle, ldp, adapt, toy, distance; or the charts of docs')]
figures experiment="fair" *flags="":
    case {{experiment}} in \
        circle) just run-circle figures {{flags}}; exit;; \
        adapt) just run-adapt --figures {{flags}}; exit;; \
        toy) cargo run --release --locked -p swd --example toy -- {{ if flags == "" { "runs/figures/toy 0" } else { flags } }}; exit;; \
        distance) cargo run --release --locked -p private-queries --example distance_figures -- {{ if flags == "" { "runs/figures/distance 0 1" } else { flags } }}; exit;; \
    esac; \
    for sweep in assets/sweeps/{{experiment}}.toml assets/sweeps/{{experiment}}-line.toml assets/sweeps/{{experiment}}-adult.toml assets/sweeps/{{experiment}}-records.toml; do \
        if [ -e "$sweep" ]; then just sweep "$sweep" --workers 2 || exit 1; fi; done; \
    cargo run --release --locked --quiet --bin sliver -- report --figures {{experiment}} {{flags}}

# Pages again, tables of several runs, or Markdown: `just report runs/swae/*`, `just report --format markdown --sweep runs/sweeps/NAME`.
[positional-arguments]
[group('your data')]
[doc('Rebuild the page of a run, or print a table of several')]
report *flags:
    @cargo run --release --locked --quiet --bin sliver -- report "$@"

# Ask the accountants; no tensors are compiled for it: `just account epsilon --records 60000 --batch 600 ...`.
[group('your data')]
[doc('Ask the accountants; no tensors are compiled for it')]
account *flags:
    @cargo run --release --locked --quiet -p tools --bin account -- {{flags}}

# Attack a release with all estimators, and fail where its claim is violated: `just audit --epsilon 4`, `just audit
# --epsilon 4 --sabotage half-noise`.
[group('contributors')]
[doc('Attack a release with all estimators, and fail if its claim is violated')]
audit *flags="":
    @cargo run --release --locked --quiet -p experiments --example audit -- {{flags}}

# Run a grid of runs: `just sweep assets/sweeps/smoke.toml --workers 2`, or print its commands. What it names of
# runs/privatised is made first.
[group('papers')]
[doc('Run a grid of runs')]
sweep file *flags:
    @just privatised $(grep -o 'runs/privatised/[^"]*' {{file}} | sort -u)
    @cargo run --release --locked --quiet --bin sliver -- sweep {{file}} {{flags}}

# All tests; what is skipped for want of data, a browser or a GPU is counted at the end.
[group('contributors')]
[doc('Run all tests, and count what is skipped')]
test *filter:
    #!/usr/bin/env bash
    set -uo pipefail
    own=""
    [ -n "${SLIVER_SKIPPED:-}" ] || own=$(mktemp)
    export SLIVER_SKIPPED="${SLIVER_SKIPPED:-$own}"
    features="{{tested}}"
    case " {{filter}} " in *" -p experiments "*) ;; *" -p "*) features="" ;; esac
    cargo test --release --locked $features {{filter}}
    status=$?
    if [ -s "$SLIVER_SKIPPED" ]; then
        echo "$(sort -u "$SLIVER_SKIPPED" | wc -l) skipped:"
        sort -u "$SLIVER_SKIPPED"
    fi
    rm -f $own
    exit $status

# The property tests alone, on cases that a new seed makes, or the one given: `just test-properties`, `just test-properties 17`.
[group('contributors')]
[doc('Run the property tests alone, on fresh cases')]
test-properties seed=`od -An -N4 -tu4 /dev/urandom | tr -d ' '`:
    #!/usr/bin/env bash
    set -euo pipefail
    export LC_ALL=C PROPTEST_RNG_SEED="{{seed}}"
    echo "PROPTEST_RNG_SEED=$PROPTEST_RNG_SEED"
    # The tests within `proptest! { ... }`, and the packages that have any.
    names=$(grep -rh --include='*.rs' '' crates experiments tools tests | awk '
        match($0, /^ *proptest! \{$/) { within = 1; indent = RLENGTH - length("proptest! {") }
        within && match($0, /^ *\}$/) && RLENGTH == indent + 1 { within = 0 }
        within && $1 == "fn" { sub(/\(.*/, "", $2); print $2 }' | sort)
    packages=$(for manifest in crates/*/Cargo.toml */Cargo.toml; do
        ! grep -rq --include='*.rs' 'proptest! {' "$(dirname "$manifest")" || echo "-p $(grep -m1 '^name' "$manifest" | cut -d'"' -f2)"
    done)
    ran=$(mktemp)
    # Compiled as by `just test`.
    cargo test --release --locked $packages --features private-training/ndarray --lib --test it -- $(uniq <<< "$names") | tee "$ran"
    missing=$(comm -23 <(echo "$names") <(sed -nE 's/^test (.*::)?([a-z0-9_]+) \.\.\. ok$/\2/p' "$ran" | sort))
    rm "$ran"
    [ -z "$missing" ] || { echo "these were not run: "$missing; exit 1; }
    echo "$(wc -l <<< "$names") property tests passed with PROPTEST_RNG_SEED=$PROPTEST_RNG_SEED"

# The Python wheel (python/README.md), built, installed beside the target folder, and tested beside the programs that `just
# test` builds, and what PyPI has.
[group('contributors')]
[doc('Build, install and test the Python wheel')]
test-python *flags: python-wheel
    cargo build --release --locked --quiet {{tested}} -p tools -p experiments --bin account --bin sliver
    ACCOUNT="$CARGO_TARGET_DIR/release/account" SLIVER="$CARGO_TARGET_DIR/release/sliver" "$CARGO_TARGET_DIR/python/bin/pytest" -q -p no:cacheprovider python/tests {{flags}}

# The wheel's accountant beside dp_accounting's at equal accuracy, what an import costs, the size of the wheel.
[private]
bench-python: python-wheel
    "$CARGO_TARGET_DIR/python/bin/python" benches/python/accounting.py "$CARGO_TARGET_DIR"/python/wheels/*.whl

# What building and testing the wheel takes, of pinned versions: without a network where it is there already.
[private]
python-tools:
    #!/usr/bin/env bash
    set -euo pipefail
    place="$CARGO_TARGET_DIR/python"
    [ -x "$place/bin/pip" ] || python3 -m venv "$place"
    "$place/bin/pip" install --quiet --disable-pip-version-check -r python/tests/requirements.txt

[private]
python-wheel: python-tools
    #!/usr/bin/env bash
    set -euo pipefail
    place="$CARGO_TARGET_DIR/python"
    rm -rf "$place/wheels"
    "$place/bin/maturin" build --quiet --release --manifest-path python/Cargo.toml --out "$place/wheels"
    "$place/bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps "$place"/wheels/*.whl

# Look for files that a parser panics at or takes too much memory for, by cargo-fuzz (`cargo install cargo-fuzz`): `just
# fuzz npy 600`, of the names in fuzz/Cargo.toml; `just fuzz preset 600 --features tensors` compiles burn again.
[private]
fuzz parser seconds="60" *flags="":
    cargo run --release --locked --quiet -p fuzz-targets --bin seeds -- {{parser}} fuzz/corpus/{{parser}}
    cargo fuzz run --fuzz-dir fuzz --sanitizer none --target-dir "$CARGO_TARGET_DIR/fuzz" {{flags}} {{parser}} -- \
        -max_total_time={{seconds}} -max_len=16384 -timeout=20 -verbosity=0 -print_final_stats=1

# Licences, sources and advisories of all dependencies, by cargo-deny (`cargo install cargo-deny`); advisories need
# their database, and without it the rest is checked.
[private]
supply-chain:
    cargo deny --locked check licenses bans sources
    if cargo deny fetch db; then cargo deny --locked check advisories; else echo "advisories: no database, not checked"; fi

# A software bill of materials to the standard output, by cargo-sbom (`cargo install cargo-sbom`).
[private]
sbom:
    @cargo sbom --output-format cyclone_dx_json_1_4

# A GPU where there is none: Debian's chromium brings a software GPU. It has no memory for burn's
# throughput probes, which only the full level of autotuning leaves out.
swiftshader := "/usr/lib/chromium/vk_swiftshader_icd.json"

# The same cases on every backend that this machine has; the table goes to docs/contributing/portability.md. More
# backends by `just portability "vulkan cuda"`.
[group('contributors')]
[doc('Run the same cases on every backend of this machine')]
portability with="":
    #!/usr/bin/env bash
    set -euo pipefail
    if [ -z "${VK_DRIVER_FILES:-}" ] && [ -e {{swiftshader}} ] && ! ls /dev/dri/renderD* /dev/nvidia0 >/dev/null 2>&1; then
        export VK_DRIVER_FILES={{swiftshader}} CUBECL_AUTOTUNE_LEVEL=full XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-/tmp}"
    fi
    export SLIVER_NEED="{{with}}"
    cargo run --release --locked --features "system-tests/ndarray {{with}}" --bin portability -- --write docs/contributing/portability.md

[group('contributors')]
[doc('Format, lints, docs, then tests: cheapest first')]
check: fmt lint docs test

[private]
fmt:
    cargo fmt --all -- --check

[private]
lint:
    cargo clippy --release --locked {{tested}} --all-targets -- -D warnings

[private]
docs:
    RUSTDOCFLAGS="-D warnings" cargo doc --release --locked --no-deps

# Tables of costs: `just bench-table --only clipping`, `just bench-table --backend wgpu --only device`.
[group('contributors')]
[doc('Print the tables of costs')]
bench-table *flags="":
    @cargo run --release --locked --quiet -p experiments --example cost -- {{flags}}

# A GPU of any maker: the portability suite, then the tables of costs and a run with the preset `paper`, on the
# backend named. `just gpu-check`, `just gpu-check vulkan`, `just gpu-check cuda`, `just gpu-check metal`.
# Products of cuda and rocm are too coarse for private steps: there the run is one without privacy.
[group('machines')]
[doc('Check a GPU: the portability suite, tables of costs, a run')]
gpu-check backend="wgpu": (gpu-pack backend)
    bash gpu/check.sh {{backend}}

# The same for a machine that has a card, and neither Rust nor a network: copy the folder `gpu` there, some 50 MB, and
# run `bash gpu/check.sh BACKEND`.
[private]
gpu-pack backend="wgpu":
    cargo build --release --locked --features "{{ if backend == "wgpu" { "" } else { backend } }}" --bin sliver --bin portability --example cost
    mkdir -p gpu
    cp benches/gpu-check.sh gpu/check.sh
    cp benches/python/sort.py gpu/
    strip -o gpu/sliver "$CARGO_TARGET_DIR/release/sliver"
    strip -o gpu/portability "$CARGO_TARGET_DIR/release/portability"
    strip -o gpu/cost "$CARGO_TARGET_DIR/release/examples/cost"
    tar -C gpu -cf - sliver portability cost | xz -T0 -6 > gpu/programs.tar.xz
    rm gpu/sliver gpu/portability gpu/cost
