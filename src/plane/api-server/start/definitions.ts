import {kinds} from '#src/api/kinds/index.js';
import {approvalLoop, structureLoop} from '#src/controlplane/definitions/condition-loops.js';
import {establishLoop} from '#src/controlplane/definitions/establish.js';
import {finalizeLoop, type Instances} from '#src/controlplane/definitions/finalize.js';
import {namesLoop} from '#src/controlplane/definitions/names.js';
import type {Loops} from '#src/controlplane/loops.js';
import type {StartHook} from './hook.js';

export interface DefinitionParts {
  /** The objects of custom resources. */
  readonly instances: Instances;
  readonly loops: Loops;
}

/** The start hooks for definitions of custom resources. */
export const definitionHooks = ({instances, loops}: DefinitionParts, signal: AbortSignal): StartHook[] => {
  const followed = async () => {
    const {informers} = loops;
    informers.informer(kinds.customResourceDefinitions);
    await informers.whenSynced(signal);
  };
  return [
    {name: 'start-apiextensions-informers', run: async () => void loops.informers.informer(kinds.customResourceDefinitions)},
    {
      name: 'start-apiextensions-controllers',
      run: async () =>
        void (await Promise.all(
          [namesLoop, establishLoop, structureLoop, approvalLoop, finalizeLoop(instances)].map(loop => loops.run(loop)),
        )),
    },
    {name: 'crd-informer-synced', run: followed},
  ];
};
