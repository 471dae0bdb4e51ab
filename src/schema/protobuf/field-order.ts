import type {Naming} from '#src/api/naming.js';
import {messageOf} from './messages.js';
import type {Field, Message} from './message-type.js';

// The order of fields in the original's JSON, derived from the protobuf tables. Needed only where clients see the text,
// as in errors of patches.

/**
 * Fields whose position in the original's JSON differs from the order of their numbers, since they were added later:
 * each word is such a field and, after `<`, the one it precedes.
 */
const movedFields: Readonly<Record<string, string>> = {
  CertificateSigningRequestSpec: 'signerName<username expirationSeconds<username usages<username',
  Container:
    'envFrom<env resizePolicy<volumeMounts restartPolicy<volumeMounts restartPolicyRules<volumeMounts volumeDevices<livenessProbe startupProbe<lifecycle terminationMessagePolicy<imagePullPolicy',
  JobSpec: 'podFailurePolicy<selector successPolicy<selector backoffLimit<selector backoffLimitPerIndex<selector maxFailedIndexes<selector',
  MutatingWebhook: 'matchPolicy<namespaceSelector objectSelector<sideEffects',
  NodeSpec: 'podCIDRs<providerID',
  PodSpec:
    'initContainers<containers ephemeralContainers<restartPolicy automountServiceAccountToken<nodeName shareProcessNamespace<securityContext',
  ReplicaSetSpec: 'minReadySeconds<selector',
  ReplicationControllerSpec: 'minReadySeconds<selector',
  ServicePort: 'appProtocol<port',
  ServiceSpec: 'clusterIPs<type ipFamilies<ipFamilyPolicy',
  ValidatingWebhook: 'matchPolicy<namespaceSelector objectSelector<sideEffects',
};

/** A field in JSON order, with the fields below it. */
export interface PlacedField {
  readonly name: string;
  /** `data` is kept as written; the keys of a `map` are sorted. */
  readonly shape: 'one' | 'list' | 'map' | 'data';
  readonly fields: FieldOrder | undefined;
}

/** The fields of an object in the order of the original's JSON. */
export type FieldOrder = () => Iterable<PlacedField>;

const orders = new WeakMap<Message, readonly Field[]>();

const ordered = (message: Message): readonly Field[] => {
  const found = orders.get(message);
  if (found) return found;
  const fields = [...message.fields];
  for (const word of movedFields[message.name]?.split(' ') ?? []) {
    const [moved, next] = word.split('<');
    const from = fields.findIndex(({name}) => name === moved);
    if (from < 0) continue;
    const [field] = fields.splice(from, 1);
    fields.splice(
      fields.findIndex(({name}) => name === next),
      0,
      field!,
    );
  }
  orders.set(message, fields);
  return fields;
};

const orderOf = (message: Message): FieldOrder =>
  function* () {
    for (const {name, shape, encoding, message: below} of ordered(message)) {
      if (shape === 'inline') yield* orderOf(below!)();
      else
        yield {
          name,
          shape: encoding === 'raw' || below?.isUnion ? 'data' : shape,
          fields: below && !below.isUnion ? orderOf(below) : undefined,
        };
    }
  };

/** Returns the field order of a kind; undefined for kinds that are not built in. */
export const fieldOrder = (apiVersion: string, kind: string, naming: Naming): FieldOrder | undefined => {
  const message = messageOf(apiVersion, kind, naming);
  if (!message) return undefined;
  return function* () {
    for (const name of ['kind', 'apiVersion']) yield {name, shape: 'one', fields: undefined};
    yield* orderOf(message)();
  };
};
