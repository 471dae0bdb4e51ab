import type {GroupTable} from './group-table.js';

const v1beta1 = {
  ExtraValue: '= 1 []string',
  SelfSubjectReview: '@1 metadata ObjectMeta; 2 status SelfSubjectReviewStatus',
  SelfSubjectReviewStatus: '1 userInfo authentication/v1.UserInfo',
  TokenReview: '@1 metadata ObjectMeta; 2 spec TokenReviewSpec; 3 status TokenReviewStatus',
  TokenReviewSpec: '1 token string; 2 audiences []string',
  TokenReviewStatus: '1 authenticated bool; 2 user UserInfo; 3 error string; 4 audiences []string',
  UserInfo: '1 username string; 2 uid string; 3 groups []string; 4 extra {ExtraValue}',
};

/** The protobuf messages of `authentication`. */
export const authentication: GroupTable = {
  v1: {
    ...v1beta1,
    BoundObjectReference: '1 kind string; 2 apiVersion string; 3 name string; 4 uid string',
    SelfSubjectReviewStatus: '1 userInfo UserInfo',
    TokenRequest: '@1 metadata ObjectMeta; 2 spec TokenRequestSpec; 3 status TokenRequestStatus',
    TokenRequestSpec: '1 audiences []string!; 3 boundObjectRef *BoundObjectReference; 4 expirationSeconds *int64',
    TokenRequestStatus: '1 token string!; 2 expirationTimestamp time',
  },
  v1alpha1: {
    SelfSubjectReview: '@1 metadata ObjectMeta; 2 status SelfSubjectReviewStatus',
    SelfSubjectReviewStatus: '1 userInfo authentication/v1.UserInfo',
  },
  v1beta1,
};
