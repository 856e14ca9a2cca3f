/* Of a toy with the interface of Dhara: nothing is needed. */
