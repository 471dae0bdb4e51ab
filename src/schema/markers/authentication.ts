import type {GroupMarkers} from './types.js';

/** The markers of `authentication`, which its field tables do not contain. */
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
