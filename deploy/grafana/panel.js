// Panels. Each has a title, a unit, a description and queries: expressions with the legends of their series.

import { ReduceDataOptionsBuilder } from '@grafana/grafana-foundation-sdk/common';
import {
  HeatmapColorMode, HeatmapColorOptionsBuilder, HeatmapColorScale, PanelBuilder as Heatmap, YAxisConfigBuilder,
} from '@grafana/grafana-foundation-sdk/heatmap';
import { DataqueryBuilder, PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as Stat } from '@grafana/grafana-foundation-sdk/stat';
import { PanelBuilder as Timeseries } from '@grafana/grafana-foundation-sdk/timeseries';
import { CountsPerSecond } from '@grafana/grafana-foundation-sdk/units';

const datasource = { type: 'prometheus', uid: '${datasource}' };

const query = ({ expr, legend }, i) =>
  new DataqueryBuilder().expr(expr).legendFormat(legend).refId(String.fromCharCode('A'.charCodeAt(0) + i));

const panel = (builder, { title, unit, description, queries }) =>
  builder.title(title).unit(unit).description(description).datasource(datasource).targets(queries.map(query));

// number shows the last value of each query: six in a line.
export const number = (about) =>
  panel(new Stat(), about).reduceOptions(new ReduceDataOptionsBuilder().calcs(['lastNotNull'])).span(4).height(4);

// graph shows values over time: three in a line.
export const graph = (about) => panel(new Timeseries(), about).min(0).fillOpacity(10).span(8).height(8);

// heatmap shows the values of a native histogram over time, in their unit, and how often each was measured: three in a line.
export const heatmap = ({ title, valueUnit, description, expr }) =>
  panel(new Heatmap(), { title, unit: CountsPerSecond, description, queries: [] })
    .withTarget(new DataqueryBuilder().expr(expr).format(PromQueryFormat.Heatmap).refId('A'))
    .yAxis(new YAxisConfigBuilder().unit(valueUnit))
    .color(new HeatmapColorOptionsBuilder().mode(HeatmapColorMode.Scheme).scheme('Blues').scale(HeatmapColorScale.Exponential).exponent(0.5).steps(64))
    .span(8)
    .height(8);
