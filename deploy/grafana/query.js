// Queries in PromQL over the nodes that the variables of the dashboard select.

const nodes = 'job=~"$job", instance=~"$instance"';

// Grafana replaces it with a time that has at least four scrapes.
const window = '[$__rate_interval]';

// by returns the clause that keeps these labels, separated by commas; without labels it is empty.
const by = (labels) => (labels ? ` by (${labels}) ` : '');

// series selects a metric of the nodes; more are further matchers.
export const series = (metric, more) => `${metric}{${more ? `${nodes}, ${more}` : nodes}}`;

export const sum = (selected, labels) => `sum${by(labels)}(${selected})`;

export const max = (selected, labels) => `max${by(labels)}(${selected})`;

// rate is the increase per second, and increase the whole one, of a selected counter.
export const rate = (selected, labels) => sum(`rate(${selected}${window})`, labels);

export const increase = (selected, labels) => sum(`increase(${selected}${window})`, labels);

// orZero is the value of an expression without labels, and 0 where it has none.
export const orZero = (expr) => `${expr} or vector(0)`;

// both reads a histogram: its classic series, or the native one where it alone was scraped.
const both = (classic, native) => `${classic} or ${native}`;

const quantileOf = (q, metric, labels, per) => both(
  `histogram_quantile(${q}, ${sum(per(series(`${metric}_bucket`)), labels ? `${labels}, le` : 'le')})`,
  `histogram_quantile(${q}, ${sum(per(series(metric)), labels)})`,
);

// quantile is the value below which this part of the recent measurements is.
export const quantile = (q, metric, labels) => quantileOf(q, metric, labels, (selected) => `rate(${selected}${window})`);

// sinceStart is the quantile of all measurements since the start of the nodes, for what is rarely measured.
export const sinceStart = (q, metric, labels) => quantileOf(q, metric, labels, (selected) => selected);

// total is the sum of all values that were measured in a second.
export const total = (metric, labels) => both(rate(series(`${metric}_sum`), labels), `histogram_sum(${rate(series(metric), labels)})`);
