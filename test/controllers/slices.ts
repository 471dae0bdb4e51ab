import type {Endpoint} from '#controllers/shared/endpoints/endpoint-slices.js';
import type {Slice} from './backends.js';
import {namespace} from './workloads.js';

export const endpoint = (name: string, ready = true): Endpoint => ({
  addresses: [`10.0.0.${name}`],
  conditions: {ready, serving: ready, terminating: false},
  targetRef: {kind: 'Pod', namespace, name},
});

export const slice = (name: string, ...of: readonly Endpoint[]): Slice => ({
  metadata: {name},
  addressType: 'IPv4',
  endpoints: [...of],
  ports: [],
});
