package actors

import "github.com/asynkron/protoactor-go/actor"

// inbox is the mailbox of a resource actor. Only the shard sends to the actor, and the actor runs on the shard's
// goroutine, so an inbox keeps no messages: the actor has handled a message when Post returns. It implements
// actor.Mailbox, and belongs to the shard's goroutine.
type inbox struct{ actor actor.MessageInvoker }

// RegisterHandlers implements actor.Mailbox. No dispatcher is needed.
func (i *inbox) RegisterHandlers(invoker actor.MessageInvoker, _ actor.Dispatcher) { i.actor = invoker }

// PostUserMessage implements actor.Mailbox. A panic of the actor goes to its supervisor.
func (i *inbox) PostUserMessage(message any) {
	defer i.escalate(message)
	i.actor.InvokeUserMessage(message)
}

// PostSystemMessage implements actor.Mailbox. It ignores that the mailbox is suspended after a panic: the shard sends
// an actor that panicked nothing until it reloads it, and the supervisor has restarted the actor long before.
func (i *inbox) PostSystemMessage(message any) {
	switch message.(type) {
	case *actor.SuspendMailbox, *actor.ResumeMailbox:
	default:
		defer i.escalate(message)
		i.actor.InvokeSystemMessage(message)
	}
}

func (i *inbox) escalate(message any) {
	if reason := recover(); reason != nil {
		i.actor.EscalateFailure(reason, message)
	}
}

// Start implements actor.Mailbox.
func (i *inbox) Start() {}

// UserMessageCount implements actor.Mailbox.
func (i *inbox) UserMessageCount() int { return 0 }
