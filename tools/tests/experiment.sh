#!/bin/sh
# A private experiment of one Gaussian release, whose score is its epsilon: config, ledger and run.json of a run, which say
# 7.654321 wherever that would be of a single run, or of nothing that is known. Its last word is the folder.
for run in "$@"; do :; done
case "$*" in *"--epsilon 2"*) score=0.2; z=8.0; epsilon=2;; *) score=0.1; z=4.0; epsilon=5;; esac
event="{\"type\":\"gaussian\",\"noise_multiplier\":$z}"
settings="{\"dataset\":\"x\",\"input\":\"/ward/7.654321/people.csv\",\"records\":200,\"epsilon\":$epsilon.0,\"delta\":1e-6}"
case "$*" in *--plan*) echo "{\"private\":true,\"settings\":$settings,\"event\":{\"type\":\"composed\",\"events\":[$event]},\"neighbours\":\"replace_one\",\"delta\":1e-5,\"failure_probability\":0.0,\"releases\":2}"; exit 0;; esac
[ -e "$run/run.json" ] && exit 0
mkdir -p "$run" && printf 'dataset = "x"\nepsilon = 7.654321\n' > "$run/config.toml"
echo "{\"event\":$event,\"count\":2,\"neighbours\":\"replace_one\",\"sensitivity\":7.654321}" > "$run/ledger.jsonl"
echo "{}" > "$run/metrics.jsonl"; echo weights > "$run/weights.f32"; echo picture > "$run/samples.png"
for name in panel-3.json panels.svg unheard-of.bin; do echo 7.654321 > "$run/$name"; done
mkdir -p "$run/copy" && echo 7.654321 > "$run/copy/card.json"
echo "{\"experiment\":\"synth\",\"version\":\"1\",\"device\":\"x\",\"settings\":{\"epsilon\":7.654321},\"privacy\":\"(7.654321, 1e-5) alone\",\"private\":true,\"releases\":2,\"records\":200,\"plan\":{\"epsilon_upper\":7.654321,\"delta\":7.654321e-9,\"neighbours\":\"replace one record\",\"noise_multiplier\":7.654321,\"step\":{\"type\":\"gaussian\",\"noise_multiplier\":7.654321},\"mu\":7.654321},\"epsilon_spent_upper\":7.654321,\"epsilon_source_upper\":7.654321,\"unheard_of\":7.654321,\"test\":{\"epsilon\":7.654321},\"public_knowledge\":\"Nothing.\",\"elsewhere\":[\"Public in another run.\"],\"warnings\":[\"delta is about 7.654321/n\",\"Public in another run.\"],\"figures\":[{\"file\":\"samples.png\",\"caption\":\"Samples\"},{\"file\":\"panels.svg\",\"caption\":\"at epsilon 7.654321\"}],\"finished\":\"today\",\"training_seconds\":7.654321,\"metrics\":[{\"name\":\"Distance\",\"value\":1.0,\"better\":\"lower\",\"paper\":7.654321,\"source\":\"at 7.654321\"},{\"name\":\"Reads private records: accuracy\",\"value\":7.654321,\"better\":\"higher\"},{\"name\":\"Accuracy on tests\",\"value\":$score,\"better\":\"higher\"},{\"name\":\"Epsilon where one point is replaced\",\"value\":7.654321}]}" > "$run/run.json"
