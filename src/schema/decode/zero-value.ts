import {ownValue} from '#src/base/own.js';
import type {PlainObject} from './plain.js';
import type {SchemaNode, TypeRef} from '#src/schema/node.js';

/** Zero values that the schema does not contain: fields that are null or zero in new objects, and absent pointers. */
const additionalZeros: Readonly<Record<string, PlainObject>> = {
  'apiextensions/v1.CustomResourceDefinitionStatus': {conditions: null, storedVersions: null},
  'apps/v1.ControllerRevision': {data: null},
  'apps/v1.DaemonSetSpec': {selector: null},
  'apps/v1.DeploymentSpec': {replicas: 0, selector: null},
  'apps/v1.ReplicaSetSpec': {replicas: 0, selector: null},
  'apps/v1.StatefulSetSpec': {replicas: 0, selector: null, serviceName: ''},
  'apps/v1.StatefulSetStatus': {availableReplicas: 0},
  'authentication/v1.TokenRequestSpec': {boundObjectRef: null},
  'autoscaling/v2.HorizontalPodAutoscalerStatus': {currentMetrics: null},
  '/v1.Event': {eventTime: null, firstTimestamp: null, lastTimestamp: null, reportingComponent: '', reportingInstance: ''},
  'discovery/v1.EndpointSlice': {ports: null},
  'events/v1.Event': {deprecatedFirstTimestamp: null, deprecatedLastTimestamp: null},
  'flowcontrol.apiserver/v1.FlowSchemaSpec': {matchingPrecedence: 0},
  'networking/v1.IPAddressSpec': {parentRef: undefined},
  'rbac.authorization/v1.ClusterRole': {rules: null},
  'rbac.authorization/v1.Role': {rules: null},
  'resource/v1.DeviceClaim': {requests: null},
};

const nameOf = (ref: TypeRef | undefined): string => (ref ? `${ref.group}/${ref.version}.${ref.name}` : '');

/** Types whose lists are null in new objects only, and absent when they are removed later. */
const nullOnlyWhenNew: ReadonlySet<string> = new Set(['apiextensions/v1.CustomResourceDefinitionStatus']);

/**
 * Returns how an optional field of a built-in type is written where it has no value: as null or empty text. Returns
 * undefined for a field that is left out then.
 */
export const whenUnset = (type: TypeRef, name: string, field: SchemaNode): null | '' | undefined => {
  if (field.showsNull) return null;
  const typeName = nameOf(type);
  const zero = nullOnlyWhenNew.has(typeName) ? undefined : ownValue(additionalZeros[typeName], name);
  return zero === null || zero === '' ? zero : undefined;
};

const zeroOf = (node: SchemaNode): unknown => {
  if (node.type === 'object') return zeroValue(node);
  if (node.type === 'integer' || node.type === 'number' || node.format === 'int-or-string') return 0;
  if (node.type === 'boolean') return false;
  if (node.format === 'quantity') return '0';
  return node.type === 'string' && node.format !== 'byte' && !node.format?.startsWith('date-time') ? '' : null;
};

/** Returns a new object of a built-in type: its required fields and the objects it holds by value. */
export const zeroValue = (node: SchemaNode): PlainObject => {
  const value: PlainObject = {};
  for (const [name, field] of node.properties ?? []) {
    if (field.showsNull) value[name] = null;
    else if (node.required?.has(name) || (field.type === 'object' && field.default !== undefined)) value[name] = zeroOf(field);
  }
  for (const [name, other] of Object.entries(additionalZeros[nameOf(node.ref)] ?? {})) {
    if (other === undefined) delete value[name];
    else value[name] = other;
  }
  return value;
};
