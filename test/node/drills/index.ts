import {readdirSync} from 'node:fs';
import {join} from 'node:path';
import {containersMissing} from '#test/node/requirements.js';
import {DrillCluster, waitFor} from './cluster.js';
import {drills} from './drills.js';
import {Load} from './load.js';

// `make node-drills`: a node with real containers under load, of which one part after the other is killed, filled or
// cut off. Afterwards nothing is lost, stuck or left. DRILLS names drills by words in their names.

const chosen = (): typeof drills => {
  const words = (process.env['DRILLS'] ?? '').split(',').filter(Boolean);
  return words.length === 0 ? drills : drills.filter(({name}) => words.some(word => name.includes(word)));
};

const since = (start: number): string => `${((performance.now() - start) / 1000).toFixed(0)} s`;

/** What an agent keeps on a node without pods. */
const isKept = (line: string): boolean => /^cgroup .*\/kubepods(\/(burstable|besteffort))?$/.test(line);

const leftovers = (cluster: DrillCluster): readonly string[] => [
  ...cluster.containerd.leftovers().filter(line => !isKept(line) && line !== `mount ${cluster.root}`),
  ...readdirSync(join(cluster.root, 'pods')).map(name => `folder of pod ${name}`),
  ...readdirSync(join(cluster.containerd.agentFolder, 'logs')).map(name => `logs ${name}`),
];

const runDrills = async (): Promise<number> => {
  await using cluster = await DrillCluster.start();
  await using load = await Load.start(cluster);
  let failures = 0;
  for (const {name, run} of chosen()) {
    const start = performance.now();
    try {
      await run(cluster, load);
      console.log(`ok      ${name} (${since(start)})`);
    } catch (error) {
      failures++;
      console.log(`FAILED  ${name} (${since(start)}): ${(error as Error).message}\n${cluster.agentLog()}`);
      break; // The next one would begin on what this one left.
    }
  }
  const {succeeded, evicted} = await load.end();
  await waitFor(90, 'nothing is left', () => Promise.resolve(leftovers(cluster).length === 0)).catch(() => {});
  const code = await cluster.stopAgent();
  const left = leftovers(cluster);
  if (code !== 0 || left.length > 0) failures++;
  console.log(`${succeeded} pods have come and gone, ${evicted} were evicted; the agent ended with ${code}`);
  console.log(left.length === 0 ? 'nothing is left' : `left:\n${left.join('\n')}`);
  return failures;
};

if (containersMissing) console.log(`skipped: ${containersMissing}`);
else process.exitCode = (await runDrills()) === 0 ? 0 : 1;
