import type {GroupMarkers} from './types.js';

/** The markers of `networking`, which its field tables do not contain. */
export const networking: GroupMarkers = {
  v1: {
    HTTPIngressPath: {'*': 'required(pathType,backend)', pathType: 'none'},
    HTTPIngressRuleValue: {paths: 'atomic'},
    IPAddressSpec: {parentRef: 'none'},
    IPBlock: {except: 'atomic'},
    IngressClassParametersReference: {'*': 'pointers(apiGroup,namespace,scope)'},
    IngressLoadBalancerIngress: {ports: 'atomic'},
    IngressLoadBalancerStatus: {ingress: 'atomic'},
    IngressPortStatus: {'*': 'pointers(error)'},
    IngressRule: {http: 'bare'},
    IngressServiceBackend: {port: 'value'},
    IngressSpec: {'*': 'pointers(ingressClassName)', rules: 'atomic', tls: 'atomic'},
    IngressStatus: {loadBalancer: 'value'},
    IngressTLS: {hosts: 'atomic'},
    NetworkPolicyEgressRule: {ports: 'atomic', to: 'atomic'},
    NetworkPolicyIngressRule: {from: 'atomic', ports: 'atomic'},
    NetworkPolicyPort: {'*': 'pointers(endPort,protocol)'},
    NetworkPolicySpec: {egress: 'atomic', ingress: 'atomic', podSelector: 'value', policyTypes: 'atomic'},
    ParentReference: {'*': 'required(resource,name)', name: 'none', resource: 'none'},
    ServiceBackendPort: {'*': 'atomic'},
    ServiceCIDRSpec: {cidrs: 'atomic'},
    ServiceCIDRStatus: {conditions: 'map(type) patch=merge(type)'},
  },
  v1beta1: {
    IPAddressSpec: {parentRef: 'none'},
    ParentReference: {'*': 'required(resource,name)', name: 'none', resource: 'none'},
    ServiceCIDRSpec: {cidrs: 'atomic'},
    ServiceCIDRStatus: {conditions: 'map(type) patch=merge(type)'},
  },
};
