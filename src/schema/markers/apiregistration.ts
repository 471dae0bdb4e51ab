import type {GroupMarkers} from './types.js';

/** What the field tables of `apiregistration` do not say by themselves. */
export const apiregistration: GroupMarkers = {
  v1: {
    APIServiceCondition: {'*': 'required(type,status)', lastTransitionTime: 'null'},
    APIServiceSpec: {'*': 'pointers(group,insecureSkipTLSVerify,version)', caBundle: 'atomic'},
    APIServiceStatus: {conditions: 'map(type) patch=merge(type)'},
    ServiceReference: {'*': 'pointers(name,namespace,port)'},
  },
};
