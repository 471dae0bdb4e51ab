// Fields and messages as they are on the wire.
import {naming} from '#src/api/naming.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import {decodeObject} from '#src/schema/protobuf/decode.js';

export const plat = naming('plat');
/** A field of length-delimited content. */
export const part = (number: number, ...content: readonly (string | number | Buffer)[]): Buffer => {
  const bytes = Buffer.concat(content.map(item => (typeof item === 'number' ? Buffer.of(item) : Buffer.from(item))));
  return Buffer.concat([Buffer.of((number << 3) | 2, bytes.length), bytes]);
};

export const wrapped = (apiVersion: string, kind: string, ...fields: readonly Buffer[]): Buffer =>
  Buffer.concat([Buffer.from(plat.envelopeMagic), part(1, part(1, apiVersion), part(2, kind)), part(2, ...fields)]);

export const decoded = (apiVersion: string, kind: string, ...fields: readonly Buffer[]) =>
  decodeObject(wrapped(apiVersion, kind, ...fields), plat);

export const number = (field: number, ...varint: readonly number[]): Buffer => Buffer.of(field << 3, ...varint);

/** Kinds with every special form, encoded as the server encodes them. */
export const specimens: readonly PlainObject[] = [
  {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'ünïcödé',
      generation: 2 ** 53 - 1,
      creationTimestamp: '2026-01-02T03:04:05Z',
      deletionGracePeriodSeconds: 0,
      labels: {a: '', 'b/c': 'd'},
      managedFields: [
        {
          manager: 'm',
          operation: 'Update',
          time: '1969-12-31T23:59:59Z',
          fieldsType: 'FieldsV1',
          fieldsV1: {'f:metadata': {'f:labels': {'.': {}}}},
        },
      ],
    },
    spec: {
      volumes: [
        {name: 'v', emptyDir: {sizeLimit: '1Gi'}},
        {name: 's', secret: {secretName: 'x', defaultMode: 420, optional: false}},
      ],
      containers: [
        {
          name: 'c',
          image: 'i',
          env: [{name: 'E', valueFrom: {configMapKeyRef: {name: 'cm', key: 'k'}}}],
          resources: {limits: {cpu: '500m', memory: '128Mi'}, requests: {cpu: '0'}},
          livenessProbe: {httpGet: {path: '/', port: 'http'}, periodSeconds: -1},
          readinessProbe: {tcpSocket: {port: 8080}},
        },
      ],
      securityContext: {supplementalGroups: [0, 1, -2]},
    },
    status: {},
  },
  {
    apiVersion: 'coordination.plat.io/v1',
    kind: 'Lease',
    metadata: {name: 'l'},
    spec: {holderIdentity: '', leaseDurationSeconds: 15, renewTime: '2026-01-02T03:04:05.000006Z'},
  },
  {
    apiVersion: 'authentication.plat.io/v1',
    kind: 'TokenReview',
    metadata: {},
    spec: {},
    status: {user: {username: 'u', extra: {'example.com/a': ['1', '2'], 'example.com/b': []}}},
  },
  {
    apiVersion: 'apiextensions.plat.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {name: 'x'},
    spec: {
      group: 'example.com',
      names: {plural: 'xs', kind: 'X'},
      scope: 'Namespaced',
      versions: [
        {
          name: 'v1',
          served: true,
          storage: false,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: {
                a: {type: 'array', items: {type: 'number', minimum: 0.5, maximum: 0}, default: [1, {b: null}]},
                b: {additionalProperties: {type: 'string'}, 'x-kubernetes-list-map-keys': ['k'], enum: ['x', 1, false]},
                c: {additionalProperties: false, additionalItems: true, items: [{type: 'string'}, {}]},
              },
              dependencies: {a: ['b'], b: {}},
              'x-kubernetes-preserve-unknown-fields': false,
            },
          },
          subresources: {status: {}},
        },
      ],
    },
    status: {acceptedNames: {plural: '', kind: ''}},
  },
  {apiVersion: 'v1', kind: 'Secret', metadata: {}, data: {empty: '', bytes: 'AAECAwQ='}, immutable: false},
  {apiVersion: 'metrics.plat.io/v1beta1', kind: 'NodeMetrics', metadata: {}, window: '1h0m0.5s', usage: {cpu: '1'}},
  {apiVersion: 'v1', kind: 'List', metadata: {}, items: [{apiVersion: 'example.com/v1', kind: 'Custom', spec: [1.5]}]},
];
