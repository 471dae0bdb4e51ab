import {defineController, mapped, on, runManager, selection} from '#src/operator/index.js';
import {ConfigMap, Secret} from '#src/operator/kinds.js';

/** Copies the config map `given` of the hub to the edge, and notes in the hub what the edge has. */
const spread = defineController({
  name: 'spread',
  for: selection(ConfigMap, {fieldSelector: 'metadata.name=given'}),
  watches: [mapped(on('edge', Secret), secret => [{namespace: secret.metadata.namespace ?? '', name: 'given'}])],
  async reconcile({key, object, caches, client}) {
    if (!object) return;
    await client.cluster('edge').apply(ConfigMap, {metadata: key, data: object.data ?? {}});
    const there = caches.list(on('edge', Secret)).map(({metadata}) => metadata.name);
    await client.apply(Secret, {metadata: {...key, name: 'seen'}, stringData: {there: there.join()}});
  },
});

await runManager({
  name: 'spread-operator',
  controllers: [spread],
  async begin({clusters}) {
    await clusters['edge']!.apply(ConfigMap, {metadata: {name: 'begun', namespace: 'default'}, data: {}});
  },
});
