// What the servers of the tests want to know.
export const token = "a-token-for-the-tests-of-the-page-0123456789";
