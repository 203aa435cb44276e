package commands

const configurationTopic = `holdfast serve takes each setting from the first of these that has it:

  1. the command line       --min-ttl 1s
  2. the environment        HOLDFAST_MIN_TTL=1s
  3. the configuration file min-ttl: 1s

The file is the one that --config or HOLDFAST_CONFIG names. It is in YAML (.yaml,
.yml) or TOML (.toml), and its keys are the flags. A key that is no flag is an
error; an empty variable counts as not set. For example, holdfast.yaml:

  listen: 127.0.0.1:4222
  data: /var/lib/holdfast
  shards: 8
  max-ttl: 1h
  log-format: json

The other commands read no file. They take the variables of the nats command line
(NATS_URL, NATS_CREDS, ...; see: holdfast help connection), HOLDFAST_OWNER and
HOLDFAST_PREFIX.`
