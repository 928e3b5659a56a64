#!/bin/sh
# A private experiment of one Gaussian release, whose score is its epsilon: config, ledger and run.json of a run. Its
# last word is the folder.
for run in "$@"; do :; done
case "$*" in *"--epsilon 2"*) score=0.2; z=8.0;; *) score=0.1; z=4.0;; esac
event="{\"type\":\"gaussian\",\"noise_multiplier\":$z}"
case "$*" in *--plan*) echo "{\"private\":true,\"event\":{\"type\":\"composed\",\"events\":[$event]},\"neighbours\":\"replace_one\",\"delta\":1e-5,\"failure_probability\":0.0,\"releases\":2}"; exit 0;; esac
[ -e "$run/run.json" ] && exit 0
mkdir -p "$run" && echo 'dataset = "x"' > "$run/config.toml"
echo "{\"event\":$event,\"count\":2,\"neighbours\":\"replace_one\"}" > "$run/ledger.jsonl"
echo "{}" > "$run/metrics.jsonl"; echo weights > "$run/weights.f32"
echo "{\"experiment\":\"flow\",\"version\":\"1\",\"device\":\"x\",\"privacy\":\"(1, 1e-5) alone\",\"private\":true,\"releases\":2,\"plan\":{\"epsilon_upper\":1.0,\"delta\":1e-5,\"neighbours\":\"replace one record\"},\"finished\":\"today\",\"training_seconds\":3.0,\"metrics\":[{\"name\":\"Distance\",\"value\":1.0,\"better\":\"lower\"},{\"name\":\"Reads private records: accuracy\",\"value\":0.5,\"better\":\"higher\"},{\"name\":\"Accuracy on tests\",\"value\":$score,\"better\":\"higher\"}]}" > "$run/run.json"
