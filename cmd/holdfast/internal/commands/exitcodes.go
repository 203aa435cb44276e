package commands

const exitCodesTopic = `The exit codes of a command:

  0  success; get also exits with 0 if the resource is held or held back
  1  any other error
  2  wrong usage, or INVALID: the same command will never succeed
  3  held by another owner, or held back: HELD, HELD_BACK, TIMEOUT, CANCELLED;
     deadlocks or doctor found some
  4  not held by this owner, or no longer: EXPIRED, NOT_HELD, NOT_OWNER,
     STALE_TOKEN; RELEASED in answer to acquire; leader found none
  5  unavailable, and nothing happened: UNAVAILABLE, OVERLOADED, EXHAUSTED,
     no NATS server, no Holdfast node
  6  no answer, outcome unknown; check with get, or repeat the command with
     the same --request-id

lock exits with the code of its command, with 128+N if signal N ended it, and
with 126 or 127 if it cannot be executed. --busy-code, --lost-code and
--unavailable-code change 3, 4 and 5.

With --json every answer of a node is printed to standard output, whatever the
exit code; without an answer, nothing is.`
