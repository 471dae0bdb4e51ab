import type {GroupMarkers} from './types.js';

/** What the field tables of `authorization` do not say by themselves. */
export const authorization: GroupMarkers = {
  v1: {
    FieldSelectorAttributes: {requirements: 'atomic'},
    LabelSelectorAttributes: {requirements: 'atomic'},
    NonResourceRule: {nonResourceURLs: 'atomic', verbs: 'atomic'},
    ResourceRule: {apiGroups: 'atomic', resourceNames: 'atomic', resources: 'atomic', verbs: 'atomic'},
    SubjectAccessReviewSpec: {groups: 'atomic'},
    SubjectRulesReviewStatus: {'*': 'required(resourceRules,nonResourceRules,incomplete)', nonResourceRules: 'atomic', resourceRules: 'atomic'},
  },
};
