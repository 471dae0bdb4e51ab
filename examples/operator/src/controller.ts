import {defineController, setCondition, type Configuration, type Stored} from '@platio/plat/operator';
import {ConfigMap} from '@platio/plat/operator/kinds';
import {Sample} from './sample.js';

/** The config map of an object. It belongs to the object, and is deleted with it. */
const configMapFor = ({metadata, spec}: Stored<Sample>): Configuration<ConfigMap> => ({
  metadata: {name: metadata.name, namespace: metadata.namespace},
  data: {text: spec.text.repeat(spec.repeat ?? 1)},
});

export const controller = defineController({
  name: 'my-operator',
  for: Sample,
  owns: [ConfigMap],

  async reconcile({object, client}) {
    if (!object) return; // It is gone, and what belongs to it goes too.
    await client.apply(ConfigMap, configMapFor(object)); // Nothing is sent if nothing differs.
    await client.status(object, setCondition('Ready', 'True', 'Applied'));
  },
});
