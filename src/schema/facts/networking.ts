import type {GroupFacts} from './form.js';

/** What the field tables of `networking` do not say by themselves. */
export const networking: GroupFacts = {
  v1: {
    HTTPIngressPath: {'*': 'required(pathType,backend)', pathType: 'none'},
    HTTPIngressRuleValue: {paths: 'atomic'},
    IPAddressSpec: {parentRef: 'none'},
    IPBlock: {except: 'atomic'},
    IngressLoadBalancerIngress: {ports: 'atomic'},
    IngressLoadBalancerStatus: {ingress: 'atomic'},
    IngressRule: {http: 'bare'},
    IngressServiceBackend: {port: 'value'},
    IngressSpec: {rules: 'atomic', tls: 'atomic'},
    IngressStatus: {loadBalancer: 'value'},
    IngressTLS: {hosts: 'atomic'},
    NetworkPolicyEgressRule: {ports: 'atomic', to: 'atomic'},
    NetworkPolicyIngressRule: {from: 'atomic', ports: 'atomic'},
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
