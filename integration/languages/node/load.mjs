// The load of a client for Node: holdfast.mjs and redlock.mjs say how that locks.

/** percentiles returns those of durations in milliseconds, in microseconds. */
function percentiles(all) {
  const sorted = Float64Array.from(all).sort();
  const at = (part) => Math.round(1000 * sorted[Math.min(Math.floor(part * sorted.length), sorted.length - 1)]);
  return { p50_us: at(0.5), p99_us: at(0.99) };
}

function used() {
  const { user, system } = process.cpuUsage();
  return user + system;
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** pairs has so many tasks lock and unlock, each a resource of its own. */
function pairs(client, tasks, seconds) {
  return repeat((i) => client.pair(`pairs.node.${i}`), tasks, seconds);
}

/** cached does the same with locks that the client caches. */
function cached(client, tasks, seconds) {
  return repeat((i) => client.cachedPair(`cached.node.${i}`), tasks, seconds);
}

async function repeat(pair, tasks, seconds) {
  const all = [];
  const cpu = used();
  const begun = performance.now();
  const work = async (i) => {
    for (let since = begun; since - begun < 1000 * seconds; ) {
      await pair(i);
      const now = performance.now();
      all.push(now - since);
      since = now;
    }
  };
  await Promise.all(Array.from({ length: tasks }, (_, i) => work(i)));
  const lasted = (performance.now() - begun) / 1000;
  return { ...percentiles(all), rate: all.length / lasted, cpu_us: (used() - cpu) / all.length };
}

/** hold has the client hold so many locks, and measures when each has been renewed. */
async function hold(client, locks, seconds) {
  for (let i = 0; i < locks; i++) await client.hold(`hold.node.${i}`);
  await pause(30_000);
  const cpu = used();
  const begun = performance.now();
  await pause(1000 * seconds);
  const figures = { core_percent: (used() - cpu) / 10 / (performance.now() - begun) };
  client.check();
  return figures;
}

/** loss breaks so many locks, one after the other, and measures the time from the answer to the signal. */
async function loss(client, losses) {
  const all = [];
  for (let i = 0; i < losses; i++) all.push(await client.loss(`loss.node.${i}`, () => pause(1000)));
  return percentiles(all);
}

/** run carries out what the arguments of the program ask for. */
export async function run(open) {
  const [load, url, number, seconds] = process.argv.slice(2);
  const client = await open(url);
  const loads = { pairs, cached, hold, loss };
  const figures = await loads[load](client, Number(number), Number(seconds));
  console.log(JSON.stringify(figures));
  await client.close();
}
