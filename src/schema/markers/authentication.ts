import type {GroupMarkers} from './types.js';

/** What the field tables of `authentication` do not say by themselves. */
export const authentication: GroupMarkers = {
  v1: {
    SelfSubjectReviewStatus: {userInfo: 'value'},
    TokenRequestSpec: {'*': 'pointers(expirationSeconds)', audiences: 'atomic'},
    TokenRequestStatus: {'*': 'required(token,expirationTimestamp)'},
    TokenReviewSpec: {audiences: 'atomic'},
    TokenReviewStatus: {audiences: 'atomic', user: 'value'},
    UserInfo: {groups: 'atomic'},
  },
};
