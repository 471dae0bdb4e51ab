import {kinds, type Kind} from '#src/api/kinds/index.js';
import {caBundleProblem} from '#src/resources/apiextensions/ca-bundle.js';
import {isTrue, hasCondition, setCondition} from '#src/resources/apiextensions/conditions.js';
import type {Definition} from '#src/resources/apiextensions/types.js';
import {defineController, sameKey, settled} from '#src/runtime/controller.js';
import {withOwnStatus, writeStatus, type Cached} from './status.js';

const type = 'Established';

const isWaiting = (cached: Cached): boolean => isTrue(cached, 'NamesAccepted') && !isTrue(cached, type);

/** Sets definitions with accepted names to established. */
export const establishLoop = defineController({
  doc: 'Establishes custom resources whose names are accepted.',
  name: 'crdEstablishing',
  watches: [sameKey(kinds.customResourceDefinitions, ({object}) => isWaiting(object))],
  workers: 1,
  create({lister, writer, clock}) {
    const definitions = lister(kinds.customResourceDefinitions);
    const {updateStatus} = writer(kinds.customResourceDefinitions as Kind<Definition>);
    return async ({name}) => {
      const cached: Cached | undefined = definitions.get(name);
      if (!cached || !isWaiting(cached)) return settled;
      const badBundle = caBundleProblem(cached.spec.conversion?.webhook?.clientConfig?.caBundle) !== undefined;
      const condition = badBundle
        ? {type, status: 'False', reason: 'InvalidCABundle', message: 'The conversion webhook CABundle is invalid'}
        : {type, status: 'True', reason: 'InitialNamesAccepted', message: 'the initial names have been accepted'};
      if (hasCondition(cached, condition)) return settled;
      const definition = withOwnStatus(cached);
      setCondition(definition, condition, clock.now());
      await writeStatus({updateStatus}, definition);
      return settled;
    };
  },
});
