import type {GroupFacts} from './form.js';

/** What the field tables of `discovery` do not say by themselves. */
export const discovery: GroupFacts = {
  v1: {
    Endpoint: {'*': 'pointers(hostname,nodeName,zone)', addresses: 'set', conditions: 'value'},
    EndpointConditions: {'*': 'pointers(ready,serving,terminating)'},
    EndpointHints: {forNodes: 'atomic', forZones: 'atomic'},
    EndpointPort: {'*': 'atomic pointers(appProtocol,name,port,protocol)'},
    EndpointSlice: {'*': 'kept(ports)', endpoints: 'atomic', ports: 'atomic'},
  },
};
