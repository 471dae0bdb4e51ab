import type * as upstream from '@kubernetes/client-node';
import {kind} from '#src/api/kind.js';
import type {Wire} from '#src/api/types.js';

/** The kinds of the group; a version that is not the best one is named with its version. */
export const apiextensionsKinds = {
  customResourceDefinitions: kind<Wire<upstream.V1CustomResourceDefinition>>(
    'apiextensions',
    'v1',
    'CustomResourceDefinition',
    'customresourcedefinitions',
    false,
  ),
} as const;
