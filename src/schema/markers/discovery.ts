import type {GroupMarkers} from './types.js';

/** The markers of `discovery`, which its field tables do not contain. */
export const discovery: GroupMarkers = {
  v1: {
    Endpoint: {'*': 'pointers(hostname,nodeName,zone)', addresses: 'set', conditions: 'value'},
    EndpointConditions: {'*': 'pointers(ready,serving,terminating)'},
    EndpointHints: {forNodes: 'atomic', forZones: 'atomic'},
    EndpointPort: {'*': 'atomic pointers(appProtocol,name,port,protocol)'},
    EndpointSlice: {'*': 'kept(ports)', endpoints: 'atomic', ports: 'atomic'},
  },
};
