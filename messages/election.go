package messages

// MetadataValue is the entry of a lease's metadata in which the leader of an election publishes its value.
const MetadataValue = "value"
