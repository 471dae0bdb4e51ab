import type {GroupMarkers} from './types.js';

/** The markers of `flowcontrol.apiserver`, which its field tables do not contain. */
export const flowcontrolApiserver: GroupMarkers = {
  v1: {
    ExemptPriorityLevelConfiguration: {'*': 'pointers(lendablePercent,nominalConcurrencyShares)'},
    FlowSchemaCondition: {lastTransitionTime: 'null'},
    FlowSchemaSpec: {matchingPrecedence: 'value', rules: 'atomic'},
    FlowSchemaStatus: {conditions: 'map(type) patch=merge(type)'},
    LimitResponse: {'*': 'union(type;queuing=Queuing)'},
    LimitedPriorityLevelConfiguration: {
      '*': 'pointers(borrowingLimitPercent,lendablePercent,nominalConcurrencyShares)',
      limitResponse: 'value',
    },
    NonResourcePolicyRule: {'*': 'required(verbs,nonResourceURLs)', nonResourceURLs: 'set', verbs: 'set'},
    PolicyRulesWithSubjects: {nonResourceRules: 'atomic', resourceRules: 'atomic', subjects: 'atomic'},
    PriorityLevelConfigurationCondition: {lastTransitionTime: 'null'},
    PriorityLevelConfigurationSpec: {'*': 'union(type;exempt=Exempt,limited=Limited)'},
    PriorityLevelConfigurationStatus: {conditions: 'map(type) patch=merge(type)'},
    QueuingConfiguration: {handSize: 'value', queueLengthLimit: 'value', queues: 'value'},
    ResourcePolicyRule: {
      '*': 'required(verbs,apiGroups,resources) kept(namespaces)',
      apiGroups: 'set',
      namespaces: 'set',
      resources: 'set',
      verbs: 'set',
    },
    ServiceAccountSubject: {'*': 'required(namespace,name)'},
    Subject: {'*': 'union(kind;group=Group,serviceAccount=ServiceAccount,user=User)'},
  },
  v1beta3: {
    ExemptPriorityLevelConfiguration: {'*': 'pointers(lendablePercent,nominalConcurrencyShares)'},
    FlowSchemaSpec: {'*': 'pointers(matchingPrecedence)'},
    LimitedPriorityLevelConfiguration: {'*': 'pointers(borrowingLimitPercent,lendablePercent,nominalConcurrencyShares)'},
    QueuingConfiguration: {'*': 'pointers(handSize,queueLengthLimit,queues)'},
    ResourcePolicyRule: {'*': 'kept(namespaces)'},
  },
};
