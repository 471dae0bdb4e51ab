import type * as upstream from '@kubernetes/client-node';
import {kind} from '#src/api/kind.js';
import type {Wire} from '#src/api/types.js';

/** The kinds of the group; a version that is not the best one is named with its version. */
export const flowcontrolApiserverKinds = {
  flowSchemas: kind<Wire<upstream.V1FlowSchema>>('flowcontrol.apiserver', 'v1', 'FlowSchema', 'flowschemas', false),
  priorityLevelConfigurations: kind<Wire<upstream.V1PriorityLevelConfiguration>>(
    'flowcontrol.apiserver',
    'v1',
    'PriorityLevelConfiguration',
    'prioritylevelconfigurations',
    false,
  ),
} as const;
