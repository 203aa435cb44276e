package access

// defaultInbox begins the inboxes of a client that chooses no prefix.
const defaultInbox = "_INBOX"

// inboxOf returns what the inboxes of a user begin with.
func inboxOf(user string) string { return defaultInbox + "." + user }
