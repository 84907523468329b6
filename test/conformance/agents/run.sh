#!/usr/bin/env bash
# Drives the coding agents of five vendors against a gateway of this tree and prints
# a table of what passed. By hand only: it installs the agents with npm (about 1.5 GB).
#
#   test/conformance/agents/run.sh [AGENT...]      claude codex gemini opencode pi
#
# WORK     where agents, homes and logs go; default a new temporary directory. Give
#          one to keep the installation for the next run.
# UPSTREAM chat, responses, messages or generatecontent: the agents then talk to a
#          second gateway that reaches the sandbox by that protocol.
# MODEL    the model the agents ask for, default sandbox-text; all gpt-* are the sandbox's
#          too, since Codex offers its tools in other ways to models it knows.
# PORT     first of the four ports used, default 28700.
set -euo pipefail

root=$(cd "$(dirname "$0")/../../.." && pwd)
work=${WORK:-$(mktemp -d)}
port=${PORT:-28700}
agents=("$@")
[ ${#agents[@]} -gt 0 ] || agents=(claude codex gemini opencode pi)
model=${MODEL:-sandbox-text}
secret="marmalade-4711"

package() {
  case $1 in
    claude) echo "@anthropic-ai/claude-code-linux-x64@2.1.197" ;;
    codex) echo "@openai/codex@0.171.0" ;;
    gemini) echo "@google/gemini-cli@0.61.0" ;;
    opencode) echo "opencode-ai@1.18.33" ;;
    pi) echo "@earendil-works/pi-coding-agent@0.74.2" ;;
  esac
}

install() {
  [ -d "$work/$1/node_modules" ] && return
  mkdir -p "$work/$1"
  echo '{"private":true}' >"$work/$1/package.json"
  (cd "$work/$1" && npm install --no-audit --no-fund --loglevel=error "$(package "$1")")
}

started=()
stop() { for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done; }
trap stop EXIT

# serve ADDRESS-OFFSET [FLAGS...] starts a gateway and waits until it answers.
serve() {
  local http=127.0.0.1:$((port + $1)) grpc=127.0.0.1:$((port + $1 + 1))
  shift
  "$work/genway" serve --data "$work/data" --http "$http" --grpc "$grpc" "$@" >>"$work/genway.log" 2>&1 &
  started+=($!)
  for _ in $(seq 50); do
    curl -fs "http://$http/" >/dev/null && return
    sleep 0.1
  done
  echo "the gateway did not start; see $work/genway.log" >&2
  exit 1
}

key() {
  local file=$work/key.$1
  [ -f "$file" ] || "$work/genway" keys create --data "$work/data" --group "$1" >"$file"
  cat "$file"
}

# An agent sees a home of its own and nothing of the caller's environment. Standard
# input is the function's.
alone() {
  local home=$work/home/$1
  shift
  mkdir -p "$home" "$work/files"
  (cd "$work/files" && env -i PATH="$PATH" HOME="$home" timeout 90 "$@")
}

# What follows runs one prompt: PROTOCOL KEY MODEL PROMPT [IMAGE].

claude() {
  alone claude env ANTHROPIC_BASE_URL="$base" ANTHROPIC_API_KEY="$2" DISABLE_TELEMETRY=1 \
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_AUTOUPDATER=1 \
    "$work/claude/node_modules/@anthropic-ai/claude-code-linux-x64/claude" \
    -p "$4" --model "$3" --output-format json --allowedTools Read </dev/null
}

codex() {
  local image=()
  [ -z "${5:-}" ] || image=(-i "$5")
  mkdir -p "$work/home/codex/.codex"
  cat >"$work/home/codex/.codex/config.toml" <<EOF
model_provider = "genway"
check_for_update_on_startup = false
[model_providers.genway]
name = "genway"
base_url = "$base/v1"
env_key = "GENWAY_KEY"
wire_api = "responses"
supports_websockets = true
EOF
  alone codex env GENWAY_KEY="$2" "$work/codex/node_modules/.bin/codex" exec --skip-git-repo-check \
    --dangerously-bypass-approvals-and-sandbox -m "$3" "${image[@]}" -- "$4" </dev/null
}

gemini() {
  mkdir -p "$work/home/gemini/.gemini"
  echo '{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false}}' \
    >"$work/home/gemini/.gemini/settings.json"
  alone gemini env GEMINI_API_KEY="$2" GOOGLE_GEMINI_BASE_URL="$base" GEMINI_CLI_TRUST_WORKSPACE=true \
    "$work/gemini/node_modules/.bin/gemini" --yolo -m "$3" -p "$4" </dev/null
}

opencode() {
  local provider url=$base/v1 attach=()
  case $1 in
    chat) provider=@ai-sdk/openai-compatible ;;
    responses) provider=@ai-sdk/openai ;;
    messages) provider=@ai-sdk/anthropic ;;
    generatecontent) provider=@ai-sdk/google url=$base/v1beta ;;
  esac
  [ -z "${5:-}" ] || attach=(-f "$5")
  mkdir -p "$work/home/opencode"
  cat >"$work/home/opencode/$1.json" <<EOF
{"autoupdate": false, "share": "disabled", "permission": "allow", "small_model": "held/sandbox-text",
 "provider": {"held": {"npm": "$provider", "name": "held", "options": {"baseURL": "$url", "apiKey": "$2"},
  "models": {"sandbox-text": {"name": "sandbox", "attachment": true, "tool_call": true,
                              "modalities": {"input": ["text", "image"], "output": ["text"]}},
             "no-such": {"name": "none"}}}}}
EOF
  printf '%s' "$4" | alone opencode env OPENCODE_CONFIG="$work/home/opencode/$1.json" OPENCODE_DISABLE_MODELS_FETCH=1 \
    OPENCODE_DISABLE_AUTOUPDATE=1 OPENCODE_DISABLE_LSP_DOWNLOAD=1 \
    "$work/opencode/node_modules/.bin/opencode" run -m "held/$3" "${attach[@]}"
}

pi() {
  local api url=$base/v1 image=()
  case $1 in
    chat) api=openai-completions ;;
    responses) api=openai-responses ;;
    messages) api=anthropic-messages url=$base ;;
    generatecontent) api=google-generative-ai url=$base/v1beta ;;
  esac
  [ -z "${5:-}" ] || image=("@$5")
  mkdir -p "$work/home/pi/.pi/agent"
  local limits='"reasoning": false, "input": ["text", "image"], "contextWindow": 128000, "maxTokens": 8000, "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}'
  cat >"$work/home/pi/.pi/agent/models.json" <<EOF
{"providers": {"held": {"baseUrl": "$url", "apiKey": "$2", "api": "$api",
  "models": [{"id": "sandbox-text", "name": "sandbox", $limits}, {"id": "no-such", "name": "none", $limits}]}}}
EOF
  alone pi env PI_OFFLINE=1 "$work/pi/node_modules/.bin/pi" --provider held --model "$3" -p "${image[@]}" "$4" </dev/null
}

reading() {
  case $1 in
    claude) echo "Call the tool Read with {\"file_path\":\"$work/files/$2\"}." ;;
    codex) case $model in
      # These run a program that calls the tools.
      gpt-5.6* | gpt-6*) [ "$2" = pic.png ] && echo "Call the tool functions__exec with \"image(await tools.view_image({path: '$work/files/$2'}))\"." ||
        echo "Call the tool functions__exec with \"text((await tools.exec_command({cmd: 'cat $2'})).output)\"."; return ;;
      esac
      [ "$2" = pic.png ] && echo "Call the tool view_image with {\"path\":\"$work/files/$2\"}." ||
      echo "Call the tool exec_command with {\"cmd\":\"cat $2\"}." ;;
    gemini) echo "Call the tool read_file with {\"file_path\":\"$2\"}." ;;
    opencode) echo "Call the tool read with {\"filePath\":\"$work/files/$2\"}." ;;
    pi) echo "Call the tool read with {\"path\":\"$2\"}." ;;
  esac
}

# expect CASE PATTERN COMMAND... passes when the output has the pattern (Perl's).
expect() {
  local name=$1 pattern=$2
  shift 2
  if "$@" >"$work/out" 2>&1; [ $? -ne 124 ] && grep -qPzi -- "$pattern" "$work/out"; then
    line+=" $name"
  else
    line+=" $name:FAILED"
    failed=1
    cp "$work/out" "$work/failed.$agent.$protocol.$name"
  fi
}

mkdir -p "$work/files"
(cd "$root" && go build -o "$work/genway" ./cmd/genway)
echo "The secret word is $secret." >"$work/files/secret.txt"
base64 -d >"$work/files/pic.png" <<'EOF'
iVBORw0KGgoAAAANSUhEUgAAABgAAAAYCAIAAABvFaqvAAAAH0lEQVR4nGM4ISdHFcQwatCoQaMGjRo0atCoQQNvEADGtUkfvb3KfwAAAABJRU5ErkJggg==
EOF

cat >"$work/sandbox.yaml" <<EOF
routes:
  - model: "sandbox-*"
    targets: [{upstream: sandbox}]
  - model: "gpt-*"
    targets: [{upstream: sandbox, model: sandbox-text}]
EOF
serve 0 --config "$work/sandbox.yaml"
base=http://127.0.0.1:$port
if [ -n "${UPSTREAM:-}" ]; then
  group=$UPSTREAM
  [ "$group" != responses ] || group=chat
  cat >"$work/routes.yaml" <<EOF
upstreams:
  sandboxed: {kind: $UPSTREAM, base_url: "$base", api_key: "$(key "$group")"}
routes:
  - model: "*"
    targets: [{upstream: sandboxed}]
EOF
  serve 2 --config "$work/routes.yaml"
  base=http://127.0.0.1:$((port + 2))
fi

failed=0
for agent in "${agents[@]}"; do
  install "$agent"
  case $agent in
    claude) protocols=(messages) ;;
    codex) protocols=(responses) ;;
    gemini) protocols=(generatecontent) ;;
    *) protocols=(chat responses messages generatecontent) ;;
  esac
  for protocol in "${protocols[@]}"; do
    group=$protocol
    [ "$group" != responses ] || group=chat
    good=$(key "$group")
    line="$(package "$agent") $protocol:"
    expect text 'You said: .{0,2}My name is Ada' "$agent" "$protocol" "$good" "$model" 'My name is Ada.'
    # Some agents print what their tools give: only what follows the sandbox's report
    # of the result has been to the gateway and back.
    expect tool "(?s)returned: .*$secret" "$agent" "$protocol" "$good" "$model" "$(reading "$agent" secret.txt)"
    expect tool-image '24x24 pixels' "$agent" "$protocol" "$good" "$model" "$(reading "$agent" pic.png)"
    case $agent in
      claude) ;;
      gemini) expect image '24x24 pixels' "$agent" "$protocol" "$good" "$model" 'Look at @pic.png' ;;
      *) expect image '24x24 pixels' "$agent" "$protocol" "$good" "$model" 'Look at it.' "$work/files/pic.png" ;;
    esac
    expect wrong-key 'invalid.*key' "$agent" "$protocol" gwk_wrong "$model" 'hi'
    expect unknown-model 'no-such' "$agent" "$protocol" "$good" no-such 'hi'
    echo "$line"
  done
done
[ $failed = 0 ] || echo "what failed is in $work/failed.*"
exit $failed
