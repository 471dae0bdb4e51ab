import type {GroupTable} from './group-table.js';

const v1 = {
  AdmissionRequest:
    '1 uid string!; 2 kind GroupVersionKind; 3 resource GroupVersionResource; 4 subResource string; 5 name string; 6 namespace string; 7 operation string!; 8 userInfo authentication/v1.UserInfo; 9 object raw; 10 oldObject raw; 11 dryRun *bool; 12 options raw; 13 requestKind *GroupVersionKind; 14 requestResource *GroupVersionResource; 15 requestSubResource string',
  AdmissionResponse:
    '1 uid string!; 2 allowed bool!; 3 status *Status; 4 patch bytes; 5 patchType *string; 6 auditAnnotations {string}; 7 warnings []string',
  AdmissionReview: '@1 request *AdmissionRequest; 2 response *AdmissionResponse',
};

/** The protobuf messages of `admission`. */
export const admission: GroupTable = {
  v1,
  v1beta1: v1,
};
