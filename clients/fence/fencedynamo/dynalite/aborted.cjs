// Dynalite throws when a client breaks off a request while it is being read, and nobody catches that.
// The tests break off some, as users do; a server would take it for no more than that.
process.on('uncaughtException', (err) => {
  if (err.code === 'ECONNRESET') return
  console.error(err)
  process.exit(1)
})
