import type {GroupMarkers} from './types.js';

/** The markers of `authorization`, which its field tables do not contain. */
export const authorization: GroupMarkers = {
  v1: {
    FieldSelectorAttributes: {requirements: 'atomic'},
    LabelSelectorAttributes: {requirements: 'atomic'},
    NonResourceRule: {nonResourceURLs: 'atomic', verbs: 'atomic'},
    ResourceRule: {apiGroups: 'atomic', resourceNames: 'atomic', resources: 'atomic', verbs: 'atomic'},
    SubjectAccessReviewSpec: {groups: 'atomic'},
    SubjectRulesReviewStatus: {
      '*': 'required(resourceRules,nonResourceRules,incomplete)',
      nonResourceRules: 'atomic',
      resourceRules: 'atomic',
    },
  },
};
