package commands

const watchdogTopic = `A watchdog is a timer in hardware, or the module softdog, that resets the machine
unless it is fed in time. --watchdog of lock and elect is for a command that must not
run on when holdfast cannot end it:

  holdfast lock db.primary --ttl 30s --watchdog /dev/watchdog -- ./primary

It is opened when the lock is held and before the command starts. If that fails,
nothing is started and the exit code is 2.

Its timeout is set to half of --ttl, in whole seconds. A device whose timeout is fixed
needs a --ttl of two to less than three times as much.

It is fed once at the start and then only after a confirmed renewal; with several
locks, of the one whose lease ends first. It is not fed after the loss of a lock, nor
when the lease would end before its timeout.

It is turned off (the byte V before the close) when the command ends and the lock was
held to the end; after a loss only if holdfast sees no process of the command any more.
Otherwise, also if holdfast is killed, it stays on and resets the machine. A driver with
nowayout cannot be turned off.

Do not stop holdfast with Ctrl-Z or SIGSTOP: the watchdog resets the machine. A file or
FIFO that is no watchdog is written to in the same way, without a timeout.`
