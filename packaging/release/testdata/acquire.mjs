// It takes a lock, as an application does that has the released client, and prints its token.
import { connect } from "@nats-io/transport-node";
import { connectWith, holdfast } from "@holdfast-io/client";

const nc = await connectWith(connect, { servers: [process.argv[2]] });
const locks = holdfast(nc, { owner: "npm" });
await locks.request(process.argv[3], async (lock) => {
  console.log("token", Number(lock.fence));
});
await locks.close();
await nc.close();
