import type {GroupFacts} from './form.js';

/** What the field tables of `discovery` do not say by themselves. */
export const discovery: GroupFacts = {
  v1: {
    Endpoint: {addresses: 'set', conditions: 'value'},
    EndpointHints: {forNodes: 'atomic', forZones: 'atomic'},
    EndpointPort: {'*': 'atomic'},
    EndpointSlice: {endpoints: 'atomic', ports: 'atomic'},
  },
};
