import type {GroupMarkers} from './types.js';

/** The markers of `apiregistration`, which its field tables do not contain. */
export const apiregistration: GroupMarkers = {
  v1: {
    APIServiceCondition: {'*': 'required(type,status)', lastTransitionTime: 'null'},
    APIServiceSpec: {'*': 'pointers(group,insecureSkipTLSVerify,version)', caBundle: 'atomic'},
    APIServiceStatus: {conditions: 'map(type) patch=merge(type)'},
    ServiceReference: {'*': 'pointers(name,namespace,port)'},
  },
};
