// An operator that follows config maps, from the built package, and prints what that cost: arguments are the
// kubeconfig, the namespace, the number of config maps, and a mark that it writes into each, if any. It is measured
// beside the program in `go`.

import {fileURLToPath} from 'node:url';
import type {Cost, Costs} from './cost.js';

const bundle = (door: string): string => fileURLToPath(new URL(`../../bundle/${door}.cjs`, import.meta.url));
const {createClient, createManager, defineController} = (await import(bundle('operator'))) as typeof import('#src/operator/index.js');
const {ConfigMap} = (await import(bundle('operator-kinds'))) as typeof import('#src/operator/kinds.js');

const used = (): Cost => {
  const {user, system} = process.cpuUsage();
  return {cpuMs: (user + system) / 1000, peakMb: process.resourceUsage().maxRSS / 1024};
};

const [kubeconfig = '', namespace = '', count = '', mark = ''] = process.argv.slice(2);
let left = Number(count);
let finish: () => void;
const done = new Promise<void>(resolve => (finish = resolve));
const follower = defineController({
  name: 'follower',
  for: ConfigMap,
  async reconcile({object, client}) {
    const {app, seen} = object?.metadata.labels ?? {};
    if (!object || app !== 'load' || (mark && seen === mark)) return;
    if (mark)
      await client.patch(object, draft => {
        draft.metadata = {...draft.metadata, labels: {...draft.metadata?.labels, seen: mark}};
      });
    if (--left === 0) finish();
  },
});
const client = await createClient({kubeconfig});
const manager = createManager({client, controllers: [follower], namespaces: [namespace]});
void manager.run(new AbortController().signal);
await manager.ready;
const synced = used();
await done;
const costs: Costs = {synced, done: used()};
process.stdout.write(`${JSON.stringify(costs)}\n`);
process.exit(0);
