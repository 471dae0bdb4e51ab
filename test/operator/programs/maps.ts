import {defineController, runManager} from '#src/operator/index.js';
import {ConfigMap} from '#src/operator/kinds.js';

const maps = defineController<ConfigMap>({
  name: 'maps',
  for: ConfigMap,
  async reconcile({object, client, key}) {
    if (object && key.name.startsWith('given-')) await client.patch(object, copy => (copy.data = {...copy.data, seen: 'yes'}));
    if (key.name === 'given-last') await new Promise(resolve => setTimeout(resolve, 300));
  },
});

await runManager({
  name: 'maps-operator',
  controllers: [maps],
  readyChecks: {
    disk() {
      if (process.env['DISK'] === 'full') throw new Error('the disk is full');
    },
  },
  begin({manager}) {
    manager.meter.counter({name: 'begun_total', help: 'Starts.'}).add();
  },
});
