// Writes the Grafana dashboard to standard output, as JSON.

import {
  DashboardBuilder, DashboardCursorSync, DatasourceVariableBuilder, QueryVariableBuilder, RowBuilder, VariableRefresh, VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { BytesIEC, CountsPerSecond, PercentUnit, RequestsPerSecond, Seconds, Short } from '@grafana/grafana-foundation-sdk/units';

import { graph, heatmap, number } from './panel.js';
import { increase, max, orZero, quantile, rate, series, sinceStart, sum, total } from './query.js';

// quantiles are the median and the 99th percentile of a histogram.
const quantiles = (metric, labels) =>
  [['p50', 0.5], ['p99', 0.99]].map(([name, q]) => ({
    expr: quantile(q, metric, labels),
    legend: labels ? `${name} {{${labels}}}` : name,
  }));

const availability = [
  number({
    title: 'Nodes that serve', unit: Short,
    description: 'Nodes that are scraped and take requests. A node that is starting is scraped and does not serve.',
    queries: [{ expr: orZero(`count(${series('holdfast_requests_pending')})`), legend: 'serving' }],
  }),
  number({
    title: 'Nodes that are not scraped', unit: Short,
    description: 'Targets of Prometheus that do not answer. Such a node may serve all the same.',
    queries: [{ expr: sum(`1 - ${series('up')}`), legend: 'down' }],
  }),
  number({
    title: 'Shards with an owner', unit: Short,
    description: 'Shards that a node owns. It is the number of shards of the deployment, if all instances are selected.',
    queries: [{ expr: sum(max(series('holdfast_shard_owned'), 'job, shard')), legend: 'owned' }],
  }),
  number({
    title: 'Shards without an owner', unit: Short,
    description: 'Shards that no node owns: requests for their locks are refused.',
    queries: [{ expr: sum(`1 - ${max(series('holdfast_shard_owned'), 'job, shard')}`), legend: 'without' }],
  }),
  number({
    title: 'Stalled shards', unit: Short,
    description: 'Shards whose commits JetStream does not confirm: no quorum, or a disk that does not take writes.',
    queries: [{ expr: sum(series('holdfast_shard_stalled')), legend: 'stalled' }],
  }),
  number({
    title: 'Refused requests', unit: PercentUnit,
    description: 'Share of the answers that are UNAVAILABLE or OVERLOADED.',
    queries: [{
      expr: orZero(`${rate(series('holdfast_requests_total', 'status=~"UNAVAILABLE|OVERLOADED"'))} / (${rate(series('holdfast_requests_total'))} > 0)`),
      legend: 'refused',
    }],
  }),
  graph({
    title: 'Shards by node', unit: Short,
    description: 'Shards that each node owns.',
    queries: [{ expr: sum(series('holdfast_shard_owned'), 'instance'), legend: '{{instance}}' }],
  }),
  graph({
    title: 'Takeovers', unit: Short,
    description: 'Shards that nodes have opened: new ones, those that they had before (restarted), those that another node has let go (handed_over), and those of nodes that failed or were not heard (moved).',
    queries: [{ expr: increase(series('holdfast_takeovers_total'), 'reason'), legend: '{{reason}}' }],
  }),
  graph({
    title: 'Stalled shards by node', unit: Short,
    description: 'Shards whose commits JetStream does not confirm, by the node that owns them.',
    queries: [{ expr: sum(series('holdfast_shard_stalled'), 'instance'), legend: '{{instance}}' }],
  }),
  graph({
    title: 'Replicas away or behind', unit: Short,
    description: 'Replicas of all shards that do not have the last commits. The next failure may stop a shard.',
    queries: [{ expr: sum(series('holdfast_replicas_behind')), legend: 'replicas' }],
  }),
  graph({
    title: 'Nodes that cannot store', unit: Short,
    description: 'Nodes whose disk is full or broken.',
    queries: [{ expr: sum(series('holdfast_storage_fault'), 'instance'), legend: '{{instance}}' }],
  }),
  graph({
    title: 'Nodes whose NATS does not sync', unit: Short,
    description: 'Nodes whose NATS confirms writes that are not on disk yet: a power failure loses locks.',
    queries: [{ expr: sum(`1 - ${series('holdfast_storage_synced')}`, 'instance'), legend: '{{instance}}' }],
  }),
  graph({
    title: 'Time until certificates end', unit: Seconds,
    description: 'How long each certificate in use is still valid. Nodes without one have no line.',
    queries: [{ expr: `${series('holdfast_certificate_expiry_timestamp_seconds')} - time()`, legend: '{{instance}} {{use}}' }],
  }),
  graph({
    title: 'Versions', unit: Short,
    description: 'Nodes by the version of Holdfast.',
    queries: [{ expr: sum(series('holdfast_build_info'), 'version'), legend: '{{version}}' }],
  }),
  graph({
    title: 'Clocks apart', unit: Seconds,
    description: 'How far the clock of each node is ahead of that of the other node from which it differs most; below zero: behind. Leases are not affected.',
    queries: [{ expr: sum(series('holdfast_clock_offset_seconds'), 'instance'), legend: '{{instance}}' }],
  }),
  graph({
    title: 'Free part of the disk', unit: PercentUnit,
    description: 'How much of the disk of the data directory is free.',
    queries: [{ expr: `${sum(series('holdfast_storage_free_bytes'), 'instance')} / ${sum(series('holdfast_storage_size_bytes'), 'instance')}`, legend: '{{instance}}' }],
  }),
];

// outcomes shows the answers to an operation.
const outcomes = (op, description) => graph({
  title: `Answers to ${op}`, unit: RequestsPerSecond, description,
  queries: [{ expr: rate(series('holdfast_requests_total', `op="${op}"`), 'status'), legend: '{{status}}' }],
});

const requests = [
  outcomes('acquire', 'Answers by status. HELD and TIMED_OUT are refusals because of other holders, GRANTED has a lease.'),
  outcomes('extend', 'Answers by status. EXPIRED and NOT_OWNER tell that a holder has lost its lease.'),
  outcomes('release', 'Answers by status. EXPIRED and NOT_OWNER tell that a holder has lost its lease.'),
  graph({
    title: 'Refused requests by operation', unit: RequestsPerSecond,
    description: 'Requests that a limit (OVERLOADED), or a shard without an owner or a quorum (UNAVAILABLE), has turned away.',
    queries: [{
      expr: rate(series('holdfast_requests_total', 'status=~"UNAVAILABLE|OVERLOADED"'), 'op, status'), legend: '{{op}} {{status}}',
    }],
  }),
  graph({
    title: 'Lost messages', unit: CountsPerSecond,
    description: 'Requests that were dropped because their reply subject is no inbox, or lost because they came too fast, and answers that NATS did not take.',
    queries: [
      { expr: rate(series('holdfast_requests_dropped_total')), legend: 'dropped' },
      { expr: rate(series('holdfast_requests_unread_total')), legend: 'unread' },
      { expr: rate(series('holdfast_replies_unsent_total')), legend: 'unsent' },
    ],
  }),
  graph({
    title: 'Time to answer', unit: Seconds,
    description: 'From the arrival of a request to its answer, by operation, except of requests that waited in a queue.',
    queries: quantiles('holdfast_request_duration_seconds', 'op'),
  }),
];

const tenants = [
  graph({
    title: 'Leases of tenants', unit: PercentUnit,
    description: 'Leases of each tenant, of those that it may have on a node, at the node where that is most.',
    queries: [{ expr: max(`${series('holdfast_tenant_leases')} / ${series('holdfast_tenant_leases_limit')}`, 'tenant'), legend: '{{tenant}}' }],
  }),
  graph({
    title: 'Queues of tenants', unit: PercentUnit,
    description: 'Waiting requests of each tenant, of those that may wait on a node, at the node where that is most.',
    queries: [{ expr: max(`${series('holdfast_tenant_waiters')} / ${series('holdfast_tenant_waiters_limit')}`, 'tenant'), legend: '{{tenant}}' }],
  }),
  graph({
    title: 'Requests of tenants', unit: RequestsPerSecond,
    description: 'Requests of each tenant that nodes have taken from clients, or refused.',
    queries: [{ expr: rate(series('holdfast_tenant_requests_total'), 'tenant'), legend: '{{tenant}}' }],
  }),
  graph({
    title: 'Refused requests of tenants', unit: RequestsPerSecond,
    description: 'Answers OVERLOADED to each tenant: a limit was reached, of the tenant or of the node.',
    queries: [{ expr: rate(series('holdfast_tenant_refused_total'), 'tenant'), legend: '{{tenant}}' }],
  }),
];

const locks = [
  graph({
    title: 'Leases', unit: Short,
    description: 'Leases that are held, and ended ones that hold their resource back (held_back).',
    queries: [{ expr: sum(series('holdfast_leases'), 'durability, mode'), legend: '{{durability}} {{mode}}' }],
  }),
  graph({
    title: 'Queue', unit: Short,
    description: 'Requests that wait for a resource, of all resources and of the one with the longest queue.',
    queries: [
      { expr: sum(series('holdfast_waiters')), legend: 'all' },
      { expr: max(series('holdfast_queue_longest')), legend: 'longest' },
    ],
  }),
  graph({
    title: 'Sessions', unit: Short,
    description: 'Sessions of clients. A client has one in each shard that it uses.',
    queries: [{ expr: sum(series('holdfast_sessions')), legend: 'sessions' }],
  }),
  graph({
    title: 'Ends of leases', unit: CountsPerSecond,
    description: 'Persistent leases that have ended. Expired and broken ones are of holders that died, hung or were disconnected.',
    queries: [{ expr: rate(series('holdfast_lease_ended_total'), 'reason'), legend: '{{reason}}' }],
  }),
  graph({
    title: 'Waiting time', unit: Seconds,
    description: 'From the arrival of an acquire to its grant, of requests that waited in a queue.',
    queries: quantiles('holdfast_acquire_wait_seconds'),
  }),
  graph({
    title: 'Holding time', unit: Seconds,
    description: 'How long persistent leases were held that have ended.',
    queries: quantiles('holdfast_hold_seconds'),
  }),
  graph({
    title: 'Grants taken back', unit: CountsPerSecond,
    description: 'Grants that reached no client: it had gone while its request waited.',
    queries: [{ expr: rate(series('holdfast_grants_returned_total')), legend: 'taken back' }],
  }),
  graph({
    title: 'Grants with a late token', unit: Short,
    description: 'Grants since the start of the nodes with a token above 90 000 000 000 000. The log names the resource: move to another name.',
    queries: [{ expr: sum(series('holdfast_tokens_near_limit'), 'instance'), legend: '{{instance}}' }],
  }),
];

const commits = [
  graph({
    title: 'Commits', unit: CountsPerSecond,
    description: 'Commits that JetStream has confirmed, by node.',
    queries: [{ expr: rate(series('holdfast_commits_total'), 'instance'), legend: '{{instance}}' }],
  }),
  graph({
    title: 'Commit time', unit: Seconds,
    description: 'The time in which JetStream confirmed a commit, by node: the disk, and the network between replicas.',
    queries: quantiles('holdfast_commit_duration_seconds', 'instance'),
  }),
  graph({
    title: 'Changes in a commit', unit: Short,
    description: 'Under load a commit has many changes, which share the cost of a write to the disk.',
    queries: quantiles('holdfast_commit_changes'),
  }),
  graph({
    title: 'Requests in progress', unit: Short,
    description: 'Requests that are neither answered nor in a queue, by node.',
    queries: [{ expr: sum(series('holdfast_requests_pending'), 'instance'), legend: '{{instance}}' }],
  }),
  graph({
    title: 'Backlog of events', unit: Short,
    description: 'Commits whose events are not published yet, by node. Locks are not affected.',
    queries: [{ expr: sum(series('holdfast_events_behind'), 'instance'), legend: '{{instance}}' }],
  }),
  graph({
    title: 'Events', unit: CountsPerSecond,
    description: 'Events that were published, and commits whose events will never be published.',
    queries: [
      { expr: rate(series('holdfast_events_published_total')), legend: 'published' },
      { expr: rate(series('holdfast_events_lost_total')), legend: 'commits lost' },
    ],
  }),
  graph({
    title: 'Refused appends', unit: CountsPerSecond,
    description: 'Appends that JetStream refused because another node had taken the shard.',
    queries: [{ expr: rate(series('holdfast_commit_conflicts_total'), 'instance'), legend: '{{instance}}' }],
  }),
  graph({
    title: 'Time to open a shard', unit: Seconds,
    description: 'From the beginning of the attempt until the shard was open, of all shards that were opened since the start of the nodes.',
    queries: [{ expr: sinceStart(0.99, 'holdfast_shard_open_seconds'), legend: 'p99' }],
  }),
  graph({
    title: 'Epoch', unit: Short,
    description: 'How often the shard has been opened that was opened most often, by node.',
    queries: [{ expr: max(series('holdfast_shard_epoch'), 'instance'), legend: '{{instance}}' }],
  }),
  graph({
    title: 'Compaction', unit: PercentUnit,
    description: 'The part of the time in which a node compacts its shards. More than 100 % is several shards at a time.',
    queries: [{ expr: total('holdfast_compaction_seconds', 'instance'), legend: '{{instance}}' }],
  }),
];

// distribution shows a native histogram.
const distribution = (title, metric) => heatmap({
  title, valueUnit: Seconds,
  description: 'How many were measured of each duration. It needs native histograms: scrape_native_histograms of Prometheus.',
  expr: rate(series(metric)),
});

const distributions = [
  distribution('Waiting time', 'holdfast_acquire_wait_seconds'),
  distribution('Holding time', 'holdfast_hold_seconds'),
  distribution('Commit time', 'holdfast_commit_duration_seconds'),
];

const guards = [
  graph({
    title: 'Checks of guards', unit: CountsPerSecond,
    description: 'Claims that guards have checked, in all applications that count them: docs/guards.md. The variables of this dashboard do not select them.',
    queries: [{ expr: 'sum by (guard, result) (rate(holdfast_fence_checks_total[$__rate_interval]))', legend: '{{guard}} {{result}}' }],
  }),
  graph({
    title: 'Stale writes', unit: Short,
    description: 'Writes that guards have refused: a holder has written after the end of its lease.',
    queries: [{ expr: 'sum by (guard) (increase(holdfast_fence_checks_total{result="stale"}[$__rate_interval]))', legend: '{{guard}}' }],
  }),
];

const processes = [
  graph({
    title: 'Memory', unit: BytesIEC,
    description: 'Resident memory of each process.',
    queries: [{ expr: sum(series('process_resident_memory_bytes'), 'instance'), legend: '{{instance}}' }],
  }),
  graph({
    title: 'Remembered', unit: BytesIEC,
    description: 'The estimated size of what the shards of each node remember, as it is stored.',
    queries: [{ expr: sum(series('holdfast_memory_held_bytes'), 'instance'), legend: '{{instance}}' }],
  }),
  graph({
    title: 'Processor time', unit: Short,
    description: 'Processors that each process uses.',
    queries: [{ expr: rate(series('process_cpu_seconds_total'), 'instance'), legend: '{{instance}}' }],
  }),
  graph({
    title: 'Goroutines', unit: Short,
    description: 'Goroutines of each process.',
    queries: [{ expr: sum(series('go_goroutines'), 'instance'), legend: '{{instance}}' }],
  }),
  graph({
    title: 'Open files', unit: PercentUnit,
    description: 'Open files and connections of each process, of those that it may have.',
    queries: [{
      expr: `${sum(series('process_open_fds'), 'instance')} / ${sum(series('process_max_fds'), 'instance')}`, legend: '{{instance}}',
    }],
  }),
];

// selection is a variable: the values that a label has. All of them are these, and not those of other jobs, whose processes
// have some of the same metrics.
const selection = (name, of) =>
  new QueryVariableBuilder(name)
    .label(name)
    .datasource({ type: 'prometheus', uid: '${datasource}' })
    .query({ query: `label_values(${of}, ${name})`, refId: 'A' })
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .sort(VariableSort.AlphabeticalAsc)
    .multi(true)
    .includeAll(true)
    .current({ selected: true, text: 'All', value: '$__all' });

const dashboard = new DashboardBuilder('Holdfast')
  .uid('holdfast')
  .description('A deployment of the lock service Holdfast.')
  .tags(['holdfast'])
  .time({ from: 'now-1h', to: 'now' })
  .refresh('30s')
  .tooltip(DashboardCursorSync.Crosshair)
  .withVariable(new DatasourceVariableBuilder('datasource').label('data source').type('prometheus'))
  .withVariable(selection('job', 'holdfast_build_info'))
  .withVariable(selection('instance', 'holdfast_build_info{job=~"$job"}'));

for (const [title, panels] of Object.entries({
  Availability: availability,
  Requests: requests,
  Locks: locks,
  Tenants: tenants,
  'Commits and events': commits,
  'Distributions (native histograms)': distributions,
  Guards: guards,
  Processes: processes,
})) {
  dashboard.withRow(new RowBuilder(title));
  panels.forEach((panel) => dashboard.withPanel(panel));
}

console.log(JSON.stringify(dashboard.build(), null, 2));
