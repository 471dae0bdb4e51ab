import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {PlaneActions} from './workloads.js';

export const scalings = async (at: Pick<PlaneActions, 'eventsOn'>, sets: readonly ObjectOf<typeof kinds.replicaSets>[]) => {
  const names = sets.map(({metadata}) => metadata!.name!);
  return (await at.eventsOn('web'))
    .filter(event => event.includes(' ScalingReplicaSet '))
    .map(event =>
      names.reduce(
        (text, name, index) => text.replace(name, String(index + 1)),
        event.replace('Normal ScalingReplicaSet Scaled ', '').replace(' replica set', ''),
      ),
    );
};
