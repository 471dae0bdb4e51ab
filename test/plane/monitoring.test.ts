import {readFileSync} from 'node:fs';
import test from 'ava';
import {parse} from 'yaml';
import {startPlane} from '#src/plane/plane.js';

interface Dashboard {
  readonly panels: readonly {readonly title: string; readonly targets?: readonly {readonly expr: string}[]}[];
  readonly templating: {readonly list: readonly {readonly name: string; readonly query: string}[]};
}

interface Rules {
  readonly groups: readonly {readonly rules: readonly {readonly record?: string; readonly alert?: string; readonly expr: string}[]}[];
}

const folder = 'deploy/monitoring';
const dashboard = JSON.parse(readFileSync(`${folder}/grafana-dashboard.json`, 'utf8')) as Dashboard;
const rules = (parse(readFileSync(`${folder}/prometheus-rules.yaml`, 'utf8')) as Rules).groups.flatMap(group => group.rules);

/** The metrics that an expression reads: names with an underscore that are neither labels nor functions. */
const metricsIn = (expression: string): readonly string[] => {
  const bare = expression
    .replaceAll(/\{[^}]*\}/g, '')
    .replaceAll(/\b(?:by|without|on|ignoring) ?\([^)]*\)/g, '')
    .replaceAll(/\[[^\]]*\]/g, '')
    .replaceAll(/\b[a-z_]+(?= ?\()/g, '');
  return [...bare.matchAll(/[a-z][\w:]*_[\w:]*/g)].map(([name]) => name);
};

test('every metric that the dashboard and the rules name is served by a plane', async t => {
  await using plane = await startPlane({nodes: 1});
  const families = new Map(
    [...String(await plane.client().request('GET', '/metrics')).matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [
      name,
      type,
    ]),
  );
  for (const {record} of rules) if (record) families.set(record, 'gauge');
  const isServed = (name: string) => families.has(name) || families.get(name.replace(/_bucket$/, '')) === 'histogram';
  const expressions = [
    ...dashboard.panels.flatMap(({targets = []}) => targets.map(({expr}) => expr)),
    ...dashboard.templating.list.filter(({name}) => name === 'job').map(({query}) => query.replace('label_values', '')),
    ...rules.map(({expr}) => expr),
  ];
  const named = expressions.flatMap(metricsIn);

  t.true(new Set(named).size > 25);
  t.deepEqual(
    named.filter(name => !isServed(name)),
    [],
  );
});
