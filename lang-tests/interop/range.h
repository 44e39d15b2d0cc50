struct Range {
    int first, count;
    float scale;
};
