import type {SchemaNode} from '#src/schema/node.js';
import {Schemas} from '#src/schema/builtin/schemas.js';

const schemas = new Schemas();
export const node = (group: string, name: string): SchemaNode => schemas.of(group, 'v1', name) ?? {type: 'any'};
export const pod = node('', 'Pod');
export const configMap = node('', 'ConfigMap');
export const generic = 'the server rejected our request due to an error in our request';

export const containers = (...list: unknown[]) => ({spec: {containers: list}});
